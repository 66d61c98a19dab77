"""C++ from .proto files with the system's protoc and gRPC plugin."""

def sdp_proto_library(name, srcs, import_prefix, grpc = True, visibility = None):
    """A cc_library of the generated messages and services.

    Args:
      name: name of the library.
      srcs: .proto files of this package.
      import_prefix: the folder (from the workspace root) that imports in the .proto files start at.
      grpc: whether to generate services too.
      visibility: as usual.
    """
    outs = []
    for src in srcs:
        base = src[:-len(".proto")]
        outs += [base + ".pb.h", base + ".pb.cc"]
        if grpc:
            outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
    command = "protoc -I{root} --cpp_out=$(GENDIR)/{root} ".format(root = import_prefix)
    if grpc:
        command += "--plugin=protoc-gen-grpc=$$(which grpc_cpp_plugin) --grpc_out=$(GENDIR)/{root} ".format(root = import_prefix)
    native.genrule(
        name = name + "_generated",
        srcs = srcs,
        outs = outs,
        cmd = command + "$(SRCS)",
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = ["-Wno-error"],
        strip_include_prefix = "/" + import_prefix,
        deps = ["//third_party:grpc", "//third_party:protobuf"],
        visibility = visibility,
    )
