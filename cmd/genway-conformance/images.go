package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const errNoImages = skipError("ListModels has no model that generates images; name one by --image-model")

func (k *kit) square() *genwayv1.GenerateImageRequest {
	return &genwayv1.GenerateImageRequest{Model: k.imageModel, Prompt: "A red square"}
}

func (k *kit) generatesImages(ctx context.Context) error {
	if k.imageModel == "" {
		return errNoImages
	}
	ctx, cancel := k.call(ctx)
	defer cancel()
	answer, err := k.client.GenerateImage(ctx, k.square())
	if err != nil {
		return err
	}
	if err := images.CheckAnswer(answer); err != nil {
		return err
	}
	if n := len(answer.GetImages()); n != 1 {
		return fmt.Errorf("%d images; without a count it is one", n)
	}
	if err := isPicture(answer.GetImages()[0]); err != nil {
		return err
	}
	return countsAddUp(answer.GetUsage())
}

// isPicture checks that an image has an address or is a file of an image.
func isPicture(image *genwayv1.GeneratedImage) error {
	if image.GetUrl() != "" {
		return nil
	}
	if kind := http.DetectContentType(image.GetData()); !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("the %d bytes of the image are not an image but %s", len(image.GetData()), kind)
	}
	return nil
}

func (k *kit) streamsImages(ctx context.Context) error {
	if k.imageModel == "" {
		return errNoImages
	}
	ctx, cancel := k.call(ctx)
	defer cancel()
	events, err := k.client.StreamGenerateImage(ctx, k.square())
	if err != nil {
		return err
	}
	var order images.Sequence
	var completed *genwayv1.ImageCompleted
	seen := map[int32]bool{}
	for {
		event, err := events.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = order.Check(event)
		}
		if err != nil {
			return err
		}
		if event.GetCompleted() != nil {
			completed = event.GetCompleted()
		}
		if image := event.GetImage(); image != nil {
			if seen[image.GetImageIndex()] || image.GetImageIndex() < 0 {
				return fmt.Errorf("the image_index %d is negative or comes twice", image.GetImageIndex())
			}
			seen[image.GetImageIndex()] = true
			if err := isPicture(image.GetImage()); err != nil {
				return err
			}
		}
	}
	if completed == nil {
		return errors.New("the stream ends without completed")
	}
	if int(completed.GetCount()) != len(seen) || len(seen) != 1 {
		return fmt.Errorf("the stream has %d images and counts %d; without a count it is one", len(seen), completed.GetCount())
	}
	return countsAddUp(completed.GetUsage())
}
