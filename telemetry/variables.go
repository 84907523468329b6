package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checked returns what is wrong with the variables that the SDK reads by itself. The SDK ignores a
// value that it cannot use, and writes it to standard error: a header with the key of a vendor,
// too. No error here has the value of a header.
func checked(get func(string) string) error {
	var errs []error
	check := func(variable string, of func(value string) error) {
		if v := get(variable); v != "" {
			if err := of(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
	}
	for _, signal := range [...]string{"", "TRACES_", "METRICS_"} {
		of := "OTEL_EXPORTER_OTLP_" + signal
		check(of+"ENDPOINT", checkEndpoint)
		check(of+"HEADERS", checkHeaders)
		check(of+"TIMEOUT", number(0, maxMilliseconds))
		check(of+"COMPRESSION", oneOf("gzip", "none"))
		check(of+"CERTIFICATE", checkAuthorities)
		certificate, key := of+"CLIENT_CERTIFICATE", of+"CLIENT_KEY"
		check(certificate, func(file string) error { return checkPair(file, get(key), key) })
		check(key, func(file string) error { return checkPair(get(certificate), file, certificate) })
	}
	check("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", func(v string) error {
		return oneOf("cumulative", "delta", "lowmemory")(strings.ToLower(v))
	})
	for _, variable := range [...]string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"} {
		check(variable, number(1, maxMilliseconds))
	}
	for _, variable := range [...]string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		check(variable, number(1, maxSpans))
	}
	for _, variable := range [...]string{
		"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
	} {
		check(variable, number(unlimited, maxOfASpan))
	}
	check("OTEL_METRICS_EXEMPLAR_FILTER", oneOf("trace_based"))
	check("OTEL_RESOURCE_ATTRIBUTES", checkAttributes)
	return errors.Join(errs...)
}

const (
	// maxMilliseconds is a day: a multiple of it leaves the range of a duration.
	maxMilliseconds = 24 * 60 * 60 * 1000
	// unlimited and maxOfASpan bound the limits of a span.
	unlimited, maxOfASpan = -1, 1_000_000_000
	// maxSpans bounds the queue, whose memory is taken at the start.
	maxSpans = 1_000_000
)

// number demands a whole number within bounds.
func number(least, most int64) func(string) error {
	return func(v string) error {
		if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < least || n > most {
			return fmt.Errorf("expected a whole number from %d to %d, got %q", least, most, v)
		}
		return nil
	}
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is not supported; use %s", v, strings.Join(words, " or "))
		}
		return nil
	}
}

// checkEndpoint demands http://HOST:PORT or https://, with a path or without. Its error repeats no
// value that may have a password.
func checkEndpoint(v string) error {
	u, err := url.Parse(v)
	switch {
	case strings.Contains(v, "@"):
		return errors.New("expected http://HOST:PORT or https://HOST:PORT, without a user and a password")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("expected http://HOST:PORT or https://HOST:PORT, got %q", v)
	}
	return nil
}

// checkHeaders demands NAME=VALUE,NAME=VALUE with values in percent encoding.
func checkHeaders(v string) error {
	for i, header := range strings.Split(v, ",") {
		name, value, found := strings.Cut(header, "=")
		if !found || !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) {
			return fmt.Errorf("header %d has no name; expected NAME=VALUE,NAME=VALUE", i+1)
		}
		if text, err := url.PathUnescape(value); err != nil || !httpguts.ValidHeaderFieldValue(text) {
			return fmt.Errorf("the value of %s is no header's in percent encoding", strings.TrimSpace(name))
		}
	}
	return nil
}

// checkAttributes demands KEY=VALUE,KEY=VALUE with values in percent encoding.
func checkAttributes(v string) error {
	for attribute := range strings.SplitSeq(v, ",") {
		key, value, found := strings.Cut(attribute, "=")
		if _, err := url.PathUnescape(value); !found || strings.TrimSpace(key) == "" || err != nil {
			return fmt.Errorf("expected KEY=VALUE,KEY=VALUE with values in percent encoding, got %q", attribute)
		}
	}
	return nil
}

func checkAuthorities(file string) error {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%s has no certificate", file)
	}
	return nil
}

// checkPair checks a client's certificate and key, of which the other variable names one.
func checkPair(certificate, key, other string) error {
	if certificate == "" || key == "" {
		return fmt.Errorf("%s is not set", other)
	}
	_, err := tls.LoadX509KeyPair(certificate, key)
	return err
}
