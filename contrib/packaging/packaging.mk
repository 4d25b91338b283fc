# SPDX-License-Identifier: BSD-3-Clause
# Packages: make deb, make rpm. Both build from the tarball of `make dist`, into ./packages.
packaging = contrib/packaging
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	$(packaging)/logrotate \
	$(packaging)/malleable.yaml \
	$(packaging)/plugstack.conf \
	$(packaging)/ringrt-check.conf

EXTRA_DIST += \
	$(packaging)/make-deb $(packaging)/make-rpm $(packaging)/slurm-version $(packaging)/ringrt.spec \
	$(packaging)/debian/control $(packaging)/debian/copyright $(packaging)/debian/rules \
	$(packaging)/debian/source/format $(packaging)/debian/source/lintian-overrides \
	$(packaging)/debian/libringrt-dev.install $(packaging)/debian/libringrt1.install \
	$(packaging)/debian/ringrt-common.install \
	$(packaging)/debian/ringrt-slurm-controller.install \
	$(packaging)/debian/ringrt-slurm-node.install \
	$(packaging)/debian/ringrt-tools.install $(packaging)/debian/ringrt-tools.links \
	$(packaging)/debian/ringrtd.install $(packaging)/debian/ringrtd.postinst \
	$(packaging)/debian/ringrtd.prerm $(packaging)/debian/ringrtd.postrm

if HAVE_SLURM
.PHONY: deb rpm
deb: dist
	$(srcdir)/$(packaging)/make-deb $(distdir).tar.xz packages
rpm: dist
	$(srcdir)/$(packaging)/make-rpm $(distdir).tar.xz packages
endif
