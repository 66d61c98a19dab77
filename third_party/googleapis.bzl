"""google.rpc (Status, ErrorInfo, BadRequest) as a C++ library, from the .proto files that `./sdp setup` unpacked."""

_BUILD = """
genrule(
    name = "generated",
    srcs = ["google/rpc/{f}.proto".format(f = f) for f in ["code", "status", "error_details"]],
    outs = [
        "google/rpc/{f}.pb.{e}".format(f = f, e = e)
        for f in ["code", "status", "error_details"]
        for e in ["h", "cc"]
    ],
    cmd = "protoc -Iexternal/googleapis --cpp_out=$(RULEDIR) $(SRCS)",
)

cc_library(
    name = "rpc",
    srcs = ["google/rpc/{f}.pb.cc".format(f = f) for f in ["code", "status", "error_details"]],
    hdrs = ["google/rpc/{f}.pb.h".format(f = f) for f in ["code", "status", "error_details"]],
    copts = ["-Wno-error"],
    includes = ["."],
    linkopts = ["-lprotobuf"],
    visibility = ["//visibility:public"],
)
"""

def _googleapis_impl(repository_ctx):
    root = repository_ctx.os.environ.get("SDP_GOOGLEAPIS", "")
    if not root:
        fail("SDP_GOOGLEAPIS is not set. Build with `./sdp build`, or see `./sdp env`.")
    if not repository_ctx.path(root + "/google/rpc/status.proto").exists:
        fail("No google/rpc/status.proto in %s. Run `./sdp setup`." % root)
    for name in ["code", "status", "error_details"]:
        path = "google/rpc/" + name + ".proto"
        repository_ctx.symlink(root + "/" + path, path)
    repository_ctx.file("BUILD", _BUILD)

googleapis_repository = repository_rule(
    implementation = _googleapis_impl,
    environ = ["SDP_GOOGLEAPIS"],
    local = True,
)
