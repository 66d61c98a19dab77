"""What Bazel's own files load from rules_cc, answered with the native rules.

Debian's rules_cc is newer than its Bazel. Our own BUILD files use the native rules and load nothing from here.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
