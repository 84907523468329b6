package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/genway/genway/test/bench/process"
)

// ErrNoNginx says how to get nginx.
var ErrNoNginx = errors.New("nginx is not installed, so the tables have no column of it; on Debian: apt-get install nginx-light")

// nginxConfig is a proxy at its cheapest: one worker, connections kept, nothing
// buffered, nothing logged.
const nginxConfig = `%[1]sworker_processes 1;
daemon off;
pid %[2]s/nginx.pid;
error_log %[2]s/nginx.log warn;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path %[2]s/client-body;
  proxy_temp_path %[2]s/proxy;
  fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi;
  scgi_temp_path %[2]s/scgi;
  client_max_body_size 64m;
  client_body_buffer_size 2m;
  keepalive_requests 1000000;
  tcp_nodelay on;
  upstream bench { server %[3]s; keepalive 4096; keepalive_requests 10000000; }
  server {
    listen %[4]s;
    location / {
      proxy_pass http://bench;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_buffer_size 32k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 64k;
      proxy_max_temp_file_size 0;
      proxy_read_timeout 10m;
    }
  }
}
`

func nginx() Target {
	return Target{Name: Nginx, Title: "nginx", Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		path, err := findNginx()
		if err != nil {
			return nil, err
		}
		address, err := FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		user := ""
		if os.Geteuid() == 0 { // whose files the worker could not reach otherwise
			user = "user root;\n"
		}
		config := filepath.Join(site.Dir, "nginx.conf")
		if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, user, site.Dir, site.Upstream, address), 0o600); err != nil {
			return nil, err
		}
		return &Plan{
			Address:  address,
			Commands: []process.Command{{Path: path, Args: []string{"-c", config, "-p", site.Dir, "-e", filepath.Join(site.Dir, "nginx.log")}, Log: filepath.Join(site.Dir, "nginx.out"), Core: site.Core}},
			Binaries: []string{path},
		}, nil
	}}
}

// Nginx is a proxy that others know.
const Nginx = "nginx"

// nginxPlaces are where nginx is looked for: the path, and where Debian puts it, which
// is not on everyone's.
var nginxPlaces = []string{"nginx", "/usr/sbin/nginx"}

func findNginx() (string, error) {
	for _, name := range nginxPlaces {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoNginx
}
