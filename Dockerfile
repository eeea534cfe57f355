# The gateway as an image: locked packages checked by hash, an account without rights, one process.
FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/builder \
 && /opt/builder/bin/pip install --no-deps --require-hashes -r requirements-build.txt \
 && python -m venv /opt/gateway \
 && /opt/gateway/bin/pip install --no-deps --require-hashes -r requirements.txt
COPY . .
RUN /opt/builder/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/gateway/bin/pip install --no-deps --no-index /wheels/*.whl

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/june-gateway --create-home gateway
COPY --from=build /opt/gateway /opt/gateway
# Your own agent directory goes here.
COPY agent /srv/agent
WORKDIR /srv
ENV PATH=/opt/gateway/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    GATEWAY_STATE=/var/lib/june-gateway \
    PORT=8080
USER gateway
VOLUME /var/lib/june-gateway
EXPOSE 8080
# Loopback is asked directly, whatever proxy the environment names.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import http.client as h, os; c = h.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
# Sent SIGTERM it drains; give it time to (docker stop --time 45).
ENTRYPOINT ["gateway"]
CMD ["serve", "--host", "0.0.0.0"]
