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
# What `genway version` says, by scripts/revision. RUN without a shell expands no variable; the
# Go command reads its flags from GOFLAGS too.
ARG VERSION REVISION TIME MODIFIED
ENV GOFLAGS="-buildvcs=false '-ldflags=-s -w -buildid= -X github.com/genway/genway/cmd/internal/cli.version=${VERSION} -X github.com/genway/genway/cmd/internal/cli.revision=${REVISION} -X github.com/genway/genway/cmd/internal/cli.commitTime=${TIME} -X github.com/genway/genway/cmd/internal/cli.modified=${MODIFIED}'"
RUN ["go", "build", "-trimpath", "-tags=grpcnotrace", "-o", "/out/", "./cmd/..."]

FROM scratch AS base
ARG VERSION REVISION TIME
LABEL org.opencontainers.image.title="Genway" org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.source="https://github.com/genway/genway" org.opencontainers.image.version="${VERSION:-unknown}" org.opencontainers.image.revision="${REVISION:-unknown}" org.opencontainers.image.created="${TIME:-1970-01-01T00:00:00Z}"
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
