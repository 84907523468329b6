package admin

import (
	"context"

	"github.com/genway/genway/codec/fault"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// Reasons and actions of the configuration.
const (
	ReasonConfigurationReadOnly = "CONFIGURATION_READ_ONLY"
	ReasonConfigurationChanged  = "CONFIGURATION_CHANGED"
	ReasonConfigurationFile     = "CONFIGURATION_FILE"

	ActionReloadConfiguration = "configuration.reload"
	ActionWriteConfiguration  = "configuration.write"
)

// maxConfiguration bounds the text of a configuration, in bytes.
const maxConfiguration = 1 << 20

// Configurator checks, takes and writes the file of the process that is asked. Its errors are
// *fault.Error values, or come from record, which it calls before a change.
type Configurator interface {
	CheckConfiguration(text string) *adminv1.CheckConfigurationResponse
	ReloadConfiguration(record func() error) (hash string, err error)
	WriteConfiguration(text, fileHash string, record func() error) (hash string, err error)
}

// CheckConfiguration says what is wrong with a configuration.
func (s *Service) CheckConfiguration(ctx context.Context, req *adminv1.CheckConfigurationRequest) (*adminv1.CheckConfigurationResponse, error) {
	if s.config.Configurator == nil {
		return s.UnimplementedAdminServer.CheckConfiguration(ctx, req)
	}
	if err := bounded(req.GetYaml()); err != nil {
		return nil, err
	}
	return s.config.Configurator.CheckConfiguration(req.GetYaml()), nil
}

// ReloadConfiguration reads the file again.
func (s *Service) ReloadConfiguration(ctx context.Context, req *adminv1.ReloadConfigurationRequest) (*adminv1.ReloadConfigurationResponse, error) {
	if s.config.Configurator == nil || s.config.Recorder == nil {
		return s.UnimplementedAdminServer.ReloadConfiguration(ctx, req)
	}
	hash, err := s.config.Configurator.ReloadConfiguration(s.recording(ctx, ActionReloadConfiguration))
	if err != nil {
		return nil, failure(ctx, err, inSession)
	}
	return &adminv1.ReloadConfigurationResponse{Hash: hash}, nil
}

// WriteConfiguration writes the file.
func (s *Service) WriteConfiguration(ctx context.Context, req *adminv1.WriteConfigurationRequest) (*adminv1.WriteConfigurationResponse, error) {
	if s.config.Configurator == nil || s.config.Recorder == nil {
		return s.UnimplementedAdminServer.WriteConfiguration(ctx, req)
	}
	if err := bounded(req.GetYaml()); err != nil {
		return nil, err
	}
	hash, err := s.config.Configurator.WriteConfiguration(req.GetYaml(), req.GetFileHash(), s.recording(ctx, ActionWriteConfiguration))
	if err != nil {
		return nil, failure(ctx, err, inSession)
	}
	return &adminv1.WriteConfigurationResponse{Hash: hash}, nil
}

// recording puts a change of the file into the audit.
func (s *Service) recording(ctx context.Context, action string) func() error {
	return func() error { return s.config.Recorder.Record(ctx, s.change(ctx, action, "configuration")) }
}

func bounded(text string) error {
	if len(text) > maxConfiguration {
		return fault.Invalid("yaml", "yaml: expected at most %d bytes, got %d", maxConfiguration, len(text))
	}
	return nil
}
