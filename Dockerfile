# Images of Genway's three programs, one target each: genway (all in one, the default),
# genway-core and genway-edge. Each is one static binary and the certificates of public
# authorities on an empty root, for a user that is not root. docs: deploy/image/README.md
#
# No RUN uses a shell, so that GO_IMAGE may be any image that holds Go and the
# certificates. Times in the image are SOURCE_DATE_EPOCH (docker buildx:
# rewrite-timestamp=true; buildah: --timestamp): two builds of one commit are the same,
# bit for bit.
ARG GO_IMAGE=docker.io/library/golang:1.26-alpine

FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOFLAGS=-buildvcs=false
COPY go.mod go.sum ./
RUN ["go", "mod", "download"]
COPY . .
ARG TARGETOS TARGETARCH
ENV GOOS=${TARGETOS} GOARCH=${TARGETARCH}
RUN ["go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w -buildid=", "-o", "/out/", "./cmd/..."]

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532

FROM base AS genway-edge
COPY --from=build /out/genway-edge /genway-edge
ENV GENWAY_HTTP=:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/genway-edge", "health"]
ENTRYPOINT ["/genway-edge"]

FROM base AS genway-core
COPY --from=build /out/genway-core /genway-core
COPY --chown=65532:65532 deploy/image/data /data
ENV GENWAY_GRPC=:9090 GENWAY_DATA=/data
EXPOSE 9090
VOLUME /data
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/genway-core", "health"]
ENTRYPOINT ["/genway-core"]

FROM base AS genway
COPY --from=build /out/genway /genway
COPY --chown=65532:65532 deploy/image/data /data
ENV GENWAY_HTTP=:8080 GENWAY_GRPC=:9090 GENWAY_DATA=/data
EXPOSE 8080 9090
VOLUME /data
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/genway", "health"]
ENTRYPOINT ["/genway"]
CMD ["serve"]
