"""LibTorch as a repository, made of links into the folder that `./sdp setup` unpacked."""

# torch/include also carries google/protobuf, fmt and others, in versions that break gRPC code:
# only these folders may be seen.
_HEADERS = ["ATen", "c10", "caffe2", "torch"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    hdrs = glob(["include/**/*.h", "include/**/*.hpp"]),
    includes = ["include", "include/torch/csrc/api/include"],
    linkopts = [
        "-L{lib}",
        "-Wl,--no-as-needed -ltorch_cpu -lc10 -Wl,--as-needed",
        "-Wl,-rpath,{lib}",
        # The library refers to parts of CUDA that a CPU run never calls.
        "-Wl,--unresolved-symbols=ignore-in-shared-libs",
    ],
)
"""

def _libtorch_impl(repository_ctx):
    root = repository_ctx.os.environ.get("SDP_LIBTORCH", "")
    if not root:
        fail("SDP_LIBTORCH is not set. Build with `./sdp build`, or run `./sdp env` to see the settings for a plain bazel.")
    torch = repository_ctx.path(root + "/torch")
    if not torch.exists:
        fail("No LibTorch in %s. Run `./sdp setup`." % root)
    for folder in _HEADERS:
        repository_ctx.symlink(root + "/torch/include/" + folder, "include/" + folder)
    repository_ctx.file("BUILD", _BUILD.format(lib = root + "/torch/lib"))

libtorch_repository = repository_rule(
    implementation = _libtorch_impl,
    environ = ["SDP_LIBTORCH"],
    local = True,
)
