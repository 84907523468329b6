package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// disk is a file system that passes on to a folder, by FUSE, and can be made slow.
type disk struct {
	// path is where it is mounted.
	path string

	delay atomic.Int64 // nanoseconds, of each write and each sync
	late  atomic.Int64 // how many were delayed
}

// noDisk says why the machine cannot have a disk that is slow.
func noDisk() error {
	file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// mountDisk mounts a disk for a user in a folder of its own. Where the machine has no FUSE the disk is that folder.
func mountDisk(tb testing.TB, dir string, as *syscall.Credential) (*disk, error) {
	d := &disk{path: filepath.Join(dir, "disk")}
	behind := filepath.Join(dir, "behind")
	if noDisk() != nil {
		behind = d.path
	}
	for _, folder := range []string{d.path, behind} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	if behind == d.path {
		return d, nil
	}
	root, err := fs.NewLoopbackRoot(behind)
	if err != nil {
		return nil, err
	}
	server, err := fs.Mount(d.path, &slowNode{root.(*fs.LoopbackNode), d}, &fs.Options{
		MountOptions: fuse.MountOptions{AllowOther: true, DirectMountStrict: true, FsName: "genway-cluster", MaxWrite: 1 << 20},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", d.path, err)
	}
	tb.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			tb.Errorf("unmount %s: %v", d.path, err)
		}
	})
	return d, nil
}

// slow delays each write and each sync from now on.
func (d *disk) slow(by time.Duration) {
	d.late.Store(0)
	d.delay.Store(int64(by))
}

// wait is what a write or a sync takes longer.
func (d *disk) wait() {
	if by := d.delay.Load(); by > 0 {
		d.late.Add(1)
		<-time.After(time.Duration(by))
	}
}

// slowNode is a file or a folder of a disk.
type slowNode struct {
	*fs.LoopbackNode
	disk *disk
}

func (n *slowNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &slowNode{child.(*fs.LoopbackNode), n.disk}
}

// Open has the kernel keep nothing of files, so that each read and each write is one of the disk.
func (n *slowNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	file, flags, errno := n.LoopbackNode.Open(ctx, flags)
	return n.disk.file(file), flags | fuse.FOPEN_DIRECT_IO, errno
}

func (n *slowNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, file, flags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	return inode, n.disk.file(file), flags | fuse.FOPEN_DIRECT_IO, errno
}

// file is an open file of the disk, or nil.
func (d *disk) file(file fs.FileHandle) fs.FileHandle {
	if open, is := file.(*fs.LoopbackFile); is {
		return &slowFile{open, d}
	}
	return file
}

// slowFile is an open file of a disk.
type slowFile struct {
	*fs.LoopbackFile
	disk *disk
}

// PassthroughFd has the kernel not write past the disk.
func (f *slowFile) PassthroughFd() (int, bool) { return 0, false }

func (f *slowFile) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.wait()
	return f.LoopbackFile.Write(ctx, data, off)
}

func (f *slowFile) Writev(ctx context.Context, data [][]byte, off int64) (uint32, syscall.Errno) {
	f.disk.wait()
	return f.LoopbackFile.Writev(ctx, data, off)
}

func (f *slowFile) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	f.disk.wait()
	return f.LoopbackFile.Fsync(ctx, flags)
}
