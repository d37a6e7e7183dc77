#!/usr/bin/env python3
"""Writes an OCI archive with one image: the static busybox of this machine. usage: image.py TAR NAME…

The same image stands under every NAME; its command sleeps, so it also serves as a pod's sandbox.
"""
import hashlib
import io
import json
import subprocess
import sys
import tarfile

BUSYBOX = "/bin/busybox"
COMMAND = ["/bin/busybox", "sleep", "2147483647"]


def add(tar, name, data=None, kind=tarfile.REGTYPE, target="", mode=0o755):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    info.size = len(data or b"")
    tar.addfile(info, io.BytesIO(data or b""))


def layer():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            add(tar, folder, kind=tarfile.DIRTYPE)
        add(tar, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n", mode=0o644)
        with open(BUSYBOX, "rb") as file:
            add(tar, "bin/busybox", file.read())
        for applet in subprocess.check_output([BUSYBOX, "--list"], text=True).split():
            if applet != "busybox":
                add(tar, f"bin/{applet}", kind=tarfile.SYMTYPE, target="busybox")
    return out.getvalue()


def main():
    path, names = sys.argv[1], sys.argv[2:]
    blobs = []

    def blob(media_type, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs.append((digest, data))
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    oci = "application/vnd.oci.image."
    files = layer()
    config = {
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": COMMAND, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(files).hexdigest()]},
    }
    manifest = {
        "schemaVersion": 2, "mediaType": oci + "manifest.v1+json",
        "config": blob(oci + "config.v1+json", json.dumps(config).encode()),
        "layers": [blob(oci + "layer.v1.tar", files)],
    }
    entry = blob(oci + "manifest.v1+json", json.dumps(manifest).encode())
    index = {
        "schemaVersion": 2,
        "manifests": [{**entry, "annotations": {"io.containerd.image.name": name}} for name in names],
    }
    with tarfile.open(path, "w") as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add(tar, "index.json", json.dumps(index).encode())
        for digest, data in blobs:
            add(tar, f"blobs/sha256/{digest}", data)


main()
