// A Go client of Genway's contract: a text, a stream, a tool call, an image and an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func main() {
	conn, err := grpc.NewClient(os.Getenv("GENWAY"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20))) // images exceed gRPC's 4 MiB
	if err != nil {
		log.Fatal(err)
	}
	if err := run(genwayv1.NewGenerationClient(conn)); err != nil {
		log.Fatal(explain(err))
	}
}

func run(client genwayv1.GenerationClient) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("GENWAY_KEY"))
	hello := &genwayv1.GenerateTextRequest{Model: "sandbox-text", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: text("Say hello.")}}}
	answer, err := client.GenerateText(ctx, hello)
	if err != nil {
		return err
	}
	fmt.Println("text:", answer.GetCandidates()[0].GetParts()[0].GetText().GetText())

	stream, err := client.StreamGenerateText(ctx, hello)
	if err != nil {
		return err
	}
	fmt.Print("stream: ")
	for complete := false; ; {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) && complete {
			break
		}
		if errors.Is(err, io.EOF) {
			return errors.New("the stream was cut: it ended without completed")
		}
		if err != nil {
			return err
		}
		fmt.Print(event.GetPartDelta().GetText())
		complete = event.GetCompleted() != nil
	}

	weather := &genwayv1.GenerateTextRequest{Model: "sandbox-text", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: text("What is the weather in Paris?")}},
		Tools: []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
			Name: "get_weather", ParametersJson: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`}}}}}
	if answer, err = client.GenerateText(ctx, weather); err != nil {
		return err
	}
	call := answer.GetCandidates()[0].GetParts()[0].GetToolCall()
	fmt.Printf("\ntool: %s(%s)\n", call.GetName(), call.GetArgumentsJson())

	drawn, err := client.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "A red square", Size: "64x64"})
	if err != nil {
		return err
	}
	fmt.Printf("image: %s, %d bytes\n", drawn.GetSize(), len(drawn.GetImages()[0].GetData()))

	_, err = client.GenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "nothing", Messages: hello.GetMessages()})
	fmt.Println("error:", explain(err))
	return nil
}

func text(s string) []*genwayv1.Part {
	return []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}}
}

// explain returns what the contract says of a failed call: why, and the request to ask about.
func explain(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if d, ok := detail.(*genwayv1.ErrorDetail); ok {
			return fmt.Sprintf("%s: %s (request %s)", d.GetReason(), d.GetMessage(), d.GetRequestId())
		}
	}
	return err.Error()
}
