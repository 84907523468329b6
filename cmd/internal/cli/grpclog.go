package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"google.golang.org/grpc/grpclog"
)

// maxMessage bounds one message of a library in the log, in bytes.
const maxMessage = 1024

// grpcLog writes the messages of grpc-go and of the gateway's runtime to the log of the
// program. Their errors are warnings here, since the program goes on. Their warnings are for
// debugging: strangers can cause them at will, by malformed frames. Messages about
// single connections are left out.
type grpcLog struct{ log *slog.Logger }

// UseForGRPC has the messages of grpc-go and of the gateway's runtime written to the log. It
// must be called before there are connections. Where GRPC_GO_LOG_SEVERITY_LEVEL is set,
// grpc-go keeps its own logger.
func UseForGRPC(log *slog.Logger) {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpcLog{log})
	}
}

func (g grpcLog) say(level slog.Level, text string) {
	ctx := context.Background()
	if text = strings.TrimSpace(text); len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	g.log.Log(ctx, level, "grpc", "message", text)
}

// debug says so if anybody reads it.
func (g grpcLog) debug(text func() string) {
	if g.log.Enabled(context.Background(), slog.LevelDebug) {
		g.say(slog.LevelDebug, text())
	}
}

func (g grpcLog) Info(...any)          {}
func (g grpcLog) Infoln(...any)        {}
func (g grpcLog) Infof(string, ...any) {}

func (g grpcLog) Warning(args ...any)   { g.debug(func() string { return fmt.Sprint(args...) }) }
func (g grpcLog) Warningln(args ...any) { g.debug(func() string { return fmt.Sprintln(args...) }) }
func (g grpcLog) Warningf(format string, args ...any) {
	g.debug(func() string { return fmt.Sprintf(format, args...) })
}

func (g grpcLog) Error(args ...any)   { g.say(slog.LevelWarn, fmt.Sprint(args...)) }
func (g grpcLog) Errorln(args ...any) { g.say(slog.LevelWarn, fmt.Sprintln(args...)) }
func (g grpcLog) Errorf(format string, args ...any) {
	g.say(slog.LevelWarn, fmt.Sprintf(format, args...))
}

// fatal ends the program, as grpc-go demands of its loggers.
func (g grpcLog) fatal(text string) {
	g.say(slog.LevelError, text)
	os.Exit(1)
}

func (g grpcLog) Fatal(args ...any)                 { g.fatal(fmt.Sprint(args...)) }
func (g grpcLog) Fatalln(args ...any)               { g.fatal(fmt.Sprintln(args...)) }
func (g grpcLog) Fatalf(format string, args ...any) { g.fatal(fmt.Sprintf(format, args...)) }

// V reports whether grpc-go logs verbosely. It does not.
func (g grpcLog) V(int) bool { return false }
