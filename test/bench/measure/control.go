package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/upstream"
)

// control makes all upstreams answer by settings. The direct target is one while it
// runs.
func (b *Bench) control(ctx context.Context, settings upstream.Settings) error {
	addresses := b.controls
	for _, s := range b.subjects {
		if s.Name == target.Direct && s.group != nil {
			addresses = append(slices.Clip(addresses), s.plan.Address)
		}
	}
	for _, address := range addresses {
		if err := set(ctx, address, settings); err != nil {
			return fmt.Errorf("upstream at %s: %w", address, err)
		}
	}
	return nil
}

// await waits until the upstream listens.
func (b *Bench) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := set(ctx, address, upstream.Defaults())
		if err == nil {
			return nil
		}
		if ended := errors.Join(b.upstream.Err(), rest(ctx, time.Millisecond)); ended != nil {
			return fmt.Errorf("upstream at %s: %w", address, errors.Join(err, ended))
		}
	}
}

func set(ctx context.Context, address string, settings upstream.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url := "http://" + address + upstream.ControlPath + "?" + settings.Query().Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}
