/**
 * Every flag the reference documents name in tables and prose, with the default they print; entries are separated by
 * semicolons.
 */
const texts = {
  apiserver: `
    bind-address=0.0.0.0; secure-port=6443; advertise-address; external-hostname; cert-dir=/var/run/plat; tls-cert-file;
    tls-private-key-file; tls-sni-cert-key; tls-cipher-suites; tls-min-version; disable-http2-serving=false;
    http2-max-streams-per-connection=0; permit-address-sharing=false; permit-port-sharing=false; strict-transport-security-directives;
    cors-allowed-origins; goaway-chance=0; debug-socket-path; enable-logs-handler; profiling=true; contention-profiling;
    egress-selector-config-file; tracing-config-file; enable-admission-plugins; disable-admission-plugins; admission-control;
    admission-control-config-file; storage-backend=kvstore v3; storage-media-type=application/vnd.plat.protobuf;
    storage-initialization-timeout=1m0s; kvstore-servers; kvstore-servers-overrides; kvstore-cafile; kvstore-certfile; kvstore-keyfile;
    kvstore-prefix=/registry; kvstore-compaction-interval=5m0s; kvstore-count-metric-poll-period=1m0s;
    kvstore-db-metric-poll-interval=30s; kvstore-healthcheck-timeout=2s; kvstore-readycheck-timeout=2s; encryption-provider-config;
    encryption-provider-config-automatic-reload; watch-cache=true; watch-cache-sizes; event-ttl=1h0m0s; lease-reuse-duration-seconds=60;
    delete-collection-workers=1; enable-garbage-collector=true; service-cluster-ip-range; service-node-port-range=30000-32767;
    plat-service-node-port=0; endpoint-reconciler-type=lease; default-not-ready-toleration-seconds=300;
    default-unreachable-toleration-seconds=300; allow-privileged=false; platlet-certificate-authority; platlet-client-certificate;
    platlet-client-key; platlet-preferred-address-types=Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP; platlet-timeout=5s;
    enable-aggregator-routing; aggregator-reject-forwarding-redirect=true; proxy-client-cert-file; proxy-client-key-file;
    peer-advertise-ip; peer-advertise-port; peer-ca-file; coordinated-leadership-lease-duration=15s;
    coordinated-leadership-renew-deadline=10s; coordinated-leadership-retry-period=2s; v; vmodule; logging-format=text;
    log-flush-frequency=5s; log-text-info-buffer-size=0; log-text-split-stream; allow-metric-labels=[]; allow-metric-labels-manifest;
    disabled-metrics; show-hidden-metrics-for-version; runtime-config; feature-gates; help; version; anonymous-auth=true;
    authentication-config; client-ca-file; token-auth-file; enable-bootstrap-token-auth; authentication-token-webhook-config-file;
    authentication-token-webhook-version=v1beta1; authentication-token-webhook-cache-ttl=2m0s; api-audiences=issuer URL if an issuer is
    set; oidc-issuer-url; oidc-client-id; oidc-ca-file=host roots; oidc-username-claim=sub; oidc-username-prefix; oidc-groups-claim;
    oidc-groups-prefix; oidc-required-claim; oidc-signing-algs=RS256; requestheader-client-ca-file; requestheader-allowed-names;
    requestheader-username-headers; requestheader-group-headers; requestheader-extra-headers-prefix; requestheader-uid-headers;
    service-account-issuer; service-account-jwks-uri; service-account-key-file=falls back to TLS key; service-account-signing-key-file;
    service-account-signing-endpoint; service-account-lookup=true; service-account-max-token-expiration;
    service-account-extend-token-expiration=true; authorization-mode=AlwaysAllow when no config file; authorization-config;
    authorization-policy-file; authorization-webhook-config-file; authorization-webhook-version=v1beta1;
    authorization-webhook-cache-authorized-ttl=5m0s; authorization-webhook-cache-unauthorized-ttl=30s; audit-log-path;
    audit-webhook-config-file; audit-log-mode=blocking; audit-webhook-mode=batch; audit-log-version=audit.plat.io/v1;
    audit-webhook-version=audit.plat.io/v1; audit-log-batch-buffer-size=10000; audit-webhook-batch-buffer-size=10000;
    audit-log-batch-max-size=1; audit-webhook-batch-max-size=400; audit-log-batch-max-wait=unset; audit-webhook-batch-max-wait=30s;
    audit-log-batch-throttle-burst=unset; audit-webhook-batch-throttle-burst=15; audit-log-batch-throttle-enable=unset;
    audit-webhook-batch-throttle-enable=true; audit-log-batch-throttle-qps=unset; audit-webhook-batch-throttle-qps=10;
    audit-log-truncate-enabled=unset; audit-webhook-truncate-enabled=unset; audit-log-truncate-max-batch-size=10485760;
    audit-webhook-truncate-max-batch-size=10485760; audit-log-truncate-max-event-size=102400;
    audit-webhook-truncate-max-event-size=102400; audit-webhook-initial-backoff=10s; max-requests-inflight=400;
    max-mutating-requests-inflight=200; enable-priority-and-fairness=true; request-timeout=1m0s; min-request-timeout=1800;
    max-connection-bytes-per-sec=0; shutdown-delay-duration=0; shutdown-watch-termination-grace-period; emulated-version;
    min-compatibility-version; emulation-forward-compatible; runtime-config-emulation-forward-compatible; audit-policy-file;
    livez-grace-period; shutdown-send-retry-after; audit-log-maxage; audit-log-maxbackup; audit-log-maxsize; audit-log-compress;
    audit-log-format=json
  `,
  'controller-manager': `
    allocate-node-cidrs; cluster-cidr; service-cluster-ip-range; cidr-allocator-type=RangeAllocator; node-cidr-mask-size=24 (IPv4), 64
    (IPv6); node-cidr-mask-size-ipv4=24; node-cidr-mask-size-ipv6=64; configure-cloud-routes=true; cloud-provider=empty;
    cloud-config=empty; external-cloud-volume-plugin; cluster-name=plat; cluster-signing-cert-file; cluster-signing-key-file;
    cluster-signing-duration=8760h0m0s; cluster-signing-plat-apiserver-client-cert-file; cluster-signing-plat-apiserver-client-key-file;
    cluster-signing-platlet-client-cert-file; cluster-signing-platlet-client-key-file; cluster-signing-platlet-serving-cert-file;
    cluster-signing-platlet-serving-key-file; cluster-signing-legacy-unknown-cert-file; cluster-signing-legacy-unknown-key-file;
    root-ca-file; service-account-private-key-file; use-service-account-credentials;
    legacy-service-account-token-clean-up-period=8760h0m0s; controllers=*; controller-shutdown-timeout=10s; controller-start-interval;
    enable-dynamic-provisioning=true; enable-garbage-collector=true; enable-hostpath-provisioner; enable-leader-migration;
    leader-migration-config; flex-volume-plugin-dir=/usr/libexec/plat/platlet-plugins/volume/exec/;
    disable-attach-detach-reconcile-sync; disable-force-detach-on-timeout; platconfig; master; terminated-pod-gc-threshold=12500;
    feature-gates; help; version; v; vmodule; logging-format=text; log-flush-frequency=5s; log-text-info-buffer-size;
    log-text-split-stream; allow-metric-labels; allow-metric-labels-manifest; disabled-metrics; show-hidden-metrics-for-version;
    endpoint-updates-batch-period; endpointslice-updates-batch-period; mirroring-endpointslice-updates-batch-period;
    max-endpoints-per-slice=100; mirroring-max-endpoints-per-subset=1000; leader-elect=true; leader-elect-lease-duration=15s;
    leader-elect-renew-deadline=10s; leader-elect-retry-period=2s; leader-elect-resource-lock=leases;
    leader-elect-resource-name=plat-controller-manager; leader-elect-resource-namespace=plat-system;
    pv-recycler-increment-timeout-nfs=30; pv-recycler-minimum-timeout-hostpath=60; pv-recycler-minimum-timeout-nfs=300;
    pv-recycler-pod-template-filepath-hostpath; pv-recycler-pod-template-filepath-nfs; pv-recycler-timeout-increment-hostpath=30;
    attach-detach-reconcile-sync-period=1m0s; horizontal-pod-autoscaler-cpu-initialization-period=5m0s;
    horizontal-pod-autoscaler-downscale-stabilization=5m0s; horizontal-pod-autoscaler-initial-readiness-delay=30s;
    horizontal-pod-autoscaler-sync-period=15s; horizontal-pod-autoscaler-tolerance=0.1; authentication-kubeconfig;
    authorization-kubeconfig; authentication-skip-lookup; authentication-tolerate-lookup-failure;
    authentication-token-webhook-cache-ttl=10s; authorization-always-allow-paths=/healthz,/readyz,/livez;
    authorization-webhook-cache-authorized-ttl=10s; authorization-webhook-cache-unauthorized-ttl=10s; client-ca-file;
    requestheader-client-ca-file; requestheader-allowed-names; requestheader-username-headers=x-remote-user;
    requestheader-group-headers=x-remote-group; requestheader-extra-headers-prefix=x-remote-extra-; requestheader-uid-headers;
    bind-address=0.0.0.0; secure-port=10257; cert-dir; tls-cert-file; tls-private-key-file; tls-sni-cert-key; tls-cipher-suites;
    tls-min-version; disable-http2-serving; http2-max-streams-per-connection; permit-address-sharing; permit-port-sharing; profiling;
    contention-profiling; concurrent-cron-job-syncs=5; concurrent-daemonset-syncs=2; concurrent-deployment-syncs=5;
    concurrent-device-taint-eviction-syncs=8; concurrent-endpoint-syncs=5; concurrent-ephemeralvolume-syncs=5; concurrent-gc-syncs=20;
    concurrent-horizontal-pod-autoscaler-syncs=5; concurrent-job-syncs=5; concurrent-namespace-syncs=10; concurrent-rc-syncs=5;
    concurrent-replicaset-syncs=5; concurrent-resource-quota-syncs=5; concurrent-service-endpoint-syncs=5; concurrent-service-syncs=1;
    concurrent-serviceaccount-token-syncs=5; concurrent-statefulset-syncs=5; concurrent-ttl-after-finished-syncs=5;
    concurrent-validating-admission-policy-status-syncs=5; mirroring-concurrent-service-endpoint-syncs=5; plat-api-qps=20;
    plat-api-burst=30; plat-api-content-type=application/vnd.plat.protobuf; min-resync-period=12h0m0s; namespace-sync-period=5m0s;
    resource-quota-sync-period=5m0s; pvclaimbinder-sync-period=15s; route-reconciliation-period=10s; node-monitor-period=5s;
    node-monitor-grace-period=50s; node-startup-grace-period=1m0s; node-eviction-rate=0.1; secondary-node-eviction-rate=0.01;
    large-cluster-size-threshold=50; unhealthy-zone-threshold=0.55; emulated-version; min-compatibility-version
  `,
  platlet: `
    anonymous-auth=true; authentication-token-webhook; authentication-token-webhook-cache-ttl=2m0s; authorization-mode=AlwaysAllow;
    authorization-webhook-cache-authorized-ttl=5m0s; authorization-webhook-cache-unauthorized-ttl=30s; client-ca-file;
    read-only-port=10255; port=10250; address=0.0.0.0; tls-cert-file; tls-private-key-file; tls-cipher-suites; tls-min-version;
    bootstrap-kubeconfig; platconfig; cert-dir=/var/lib/platlet/pki; rotate-certificates; rotate-server-certificates;
    enable-server=true; enable-debugging-handlers=true; healthz-bind-address=127.0.0.1; healthz-port=10248;
    image-credential-provider-bin-dir; image-credential-provider-config; max-pods=110; pods-per-core=0; pod-max-pids=-1;
    max-open-files=1000000; container-log-max-files=5; container-log-max-size=10Mi; file-check-frequency=20s; http-check-frequency=20s;
    sync-frequency=1m0s; node-status-update-frequency=10s; node-status-max-images=50; plat-api-qps=50; plat-api-burst=100;
    plat-api-content-type=application/vnd.plat.protobuf; event-qps=50; event-burst=100; registry-qps=5; registry-burst=10;
    serialize-image-pulls=true; runtime-request-timeout=2m0s; streaming-connection-idle-timeout=4h0m0s; volume-stats-agg-period=1m0s;
    image-gc-high-threshold=85; image-gc-low-threshold=80; minimum-image-ttl-duration=2m0s; maximum-dead-containers=-1;
    maximum-dead-containers-per-container=1; minimum-container-ttl-duration; eviction-hard; eviction-soft; eviction-soft-grace-period;
    eviction-minimum-reclaim; eviction-max-pod-grace-period; eviction-pressure-transition-period=5m0s; kube-reserved=none;
    system-reserved=none; plat-reserved-cgroup=empty; system-reserved-cgroup=empty; enforce-node-allocatable=pods; reserved-cpus;
    reserved-memory; qos-reserved; cpu-cfs-quota=true; cpu-cfs-quota-period=100ms; cpu-manager-policy=none; cpu-manager-policy-options;
    cpu-manager-reconcile-period=10s; memory-manager-policy=None; topology-manager-policy=none; topology-manager-policy-options;
    topology-manager-scope=container; oom-score-adj=-999; fail-swap-on=true; fail-cgroupv1=true; local-storage-capacity-isolation=true;
    config; config-dir=empty; cloud-provider; cluster-dns; cluster-domain; resolv-conf=/etc/resolv.conf;
    container-runtime-endpoint=unix:///run/<container_runtime>/<container_runtime>.sock; image-service-endpoint=same as runtime
    endpoint; cgroup-driver=cgroupfs; cgroup-root=empty; cgroups-per-qos=true; platlet-cgroups; runtime-cgroups; system-cgroups;
    hairpin-mode=promiscuous-bridge; make-iptables-util-chains=true; enable-controller-attach-detach=true; allowed-unsafe-sysctls;
    protect-kernel-defaults; kernel-memcg-notification; pod-manifest-path; manifest-url; manifest-url-header; runonce; pod-cidr;
    register-node=true; register-with-taints; hostname-override; node-ip; node-labels; provider-id; root-dir=/var/lib/platlet;
    volume-plugin-dir=/usr/libexec/plat/platlet-plugins/volume/exec/; lock-file; exit-on-lock-contention;
    experimental-allocatable-ignore-eviction=false; experimental-mounter-path; seccomp-default; contention-profiling;
    log-flush-frequency=5s; logging-format=text; log-text-info-buffer-size; log-text-split-stream; v; vmodule; version; help;
    feature-gates
  `,
} as const;

/** Flag names of a program with the default's text; empty where the documents print none. */
export const documentedFlags = (program: keyof typeof texts): ReadonlyMap<string, string> =>
  new Map(
    texts[program]
      .replace(/\s+/g, ' ')
      .trim()
      .split('; ')
      .map((entry): [string, string] => {
        const [name = '', ...rest] = entry.split('=');
        return [name, rest.join('=')];
      }),
  );
