# An earlier version of the product: its sources (test/cluster/earlier), on the packages of the present version.
ARG PACKAGES
FROM ${PACKAGES} AS packages
FROM docker.io/library/node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
ADD sources.tar.xz ./
USER 65532:65532
CMD ["node", "--version"]
