# SPDX-License-Identifier: BSD-3-Clause
# The Python package (pip install ./python), and its tests against the library of this build.
EXTRA_DIST += python/README.md python/pyproject.toml python/setup.py python/install python/site-directory \
	python/ringrt_autoload.py python/ringrt/__init__.py python/ringrt/communicator.py python/ringrt/errors.py python/ringrt/handle.py python/ringrt/hooks.py python/ringrt/job.py python/ringrt/leaving.py \
	python/ringrt/library.py python/ringrt/py.typed python/ringrt/run.py python/ringrt/state.py \
	python/ringrt/submitit.py python/ringrt/types.py python/ringrt/torch/__init__.py python/ringrt/torch/accumulate.py \
	python/ringrt/torch/backend.py python/ringrt/torch/bits.py python/ringrt/torch/elements.py python/ringrt/torch/registration.py python/ringrt/torch/work.py \
	python/ringrt/torch/course.py python/ringrt/torch/dcp.py python/ringrt/torch/distributed_state.py python/ringrt/torch/hf_live.py \
	python/ringrt/torch/hf_train.py python/ringrt/torch/hf_trainer.py python/ringrt/torch/lightning.py python/ringrt/torch/lightning_fit.py \
	python/ringrt/torch/lightning_live.py python/ringrt/torch/lightning_parts.py \
	python/ringrt/torch/buckets.py python/ringrt/torch/grouping.py python/ringrt/torch/live.py python/ringrt/torch/live_world.py python/ringrt/torch/loader.py python/ringrt/torch/resized.py \
	python/ringrt/torch/malleable.py python/ringrt/torch/packed.py python/ringrt/torch/plan.py python/ringrt/torch/randomness.py \
	python/ringrt/torch/remesh.py python/ringrt/torch/sharded.py python/ringrt/torch/sharded_live.py python/ringrt/torch/shares.py python/ringrt/torch/spread.py python/ringrt/torch/state.py python/ringrt/torch/step_stage.py

# With the library in it, as RINGRT_BUNDLE does, and without bytecode, which would name this directory.
python_directory = [ -n "$(PYTHONDIR)" ] && echo "$(PYTHONDIR)" || $(PYTHON) $(srcdir)/python/site-directory $(prefix)
install-python: libringrt.la
	rm -rf python-install
	RINGRT_BUNDLE=`pwd`/.libs/libringrt.so $(srcdir)/python/install $(PYTHON) python-install
	find python-install/installed -name __pycache__ -prune -exec rm -rf {} +
	to="$(DESTDIR)`$(python_directory)`" && $(MKDIR_P) "$$to" && cp -R python-install/installed/. "$$to" && \
		echo "installed the Python package in $$to"
	rm -rf python-install
uninstall-python:
	from="$(DESTDIR)`$(python_directory)`" && rm -rf "$$from/ringrt" "$$from/ringrt_autoload.py" "$$from"/__pycache__/ringrt_autoload.* "$$from"/ringrt-*.dist-info
if ENABLE_PYTHON
install-data-local: install-python
uninstall-local: uninstall-python
endif

python_tests = python/tests/check-package python/tests/check-wheel python/tests/check-torch python/tests/check-gpu \
	python/tests/check-frameworks python/tests/check-jax
EXTRA_DIST += $(python_tests) python/tests/versions python/tests/support.py python/tests/live_support.py python/tests/lost_at.py \
	python/tests/backend_checks.py python/tests/grouping_checks.py python/tests/measure_backend.py python/tests/measure_buckets.py python/tests/measure_leaving.py python/tests/measure_live.py python/tests/missing.py python/tests/pauses.py python/tests/test_backend.py python/tests/test_buckets.py \
	python/tests/test_frameworks.py python/tests/test_jax.py python/tests/test_job.py python/tests/test_leaving.py python/tests/test_live.py python/tests/test_live_frameworks.py python/tests/test_live_sharded.py python/tests/test_malleable.py python/tests/test_mesh.py python/tests/test_plan.py \
	python/tests/test_run.py python/tests/test_spread.py python/tests/test_step_stage.py python/tests/test_torch_own.py python/tests/test_versions.py python/tests/train_hf.py python/tests/train_job.py python/tests/train_lightning.py python/tests/train_mesh.py python/tests/train_run.py python/tests/train_torch.py
TESTS += $(python_tests)
# The last three minor versions of torch and the frameworks, from PyPI: 6.3 GB, and as long as check-torch and check-frameworks
# three times.
check-torch-versions: libringrt.la
	$(srcdir)/python/tests/versions $(SETS)
