// The checks of the baseline level (Pod Security Standards). Each returns its reason and detail for a pod that fails;
// check.ts collects them.

import type {LifecycleHandler, Probe, SELinuxOptions} from '#src/api/pod.js';
import {containersOf} from '#src/model/pod/containers.js';
import {
  containersNamed,
  containersWhere,
  exceptInUserNamespace,
  plural,
  quoteList,
  settingSources,
  sorted,
  type Check,
  type PodCheck,
} from './check.js';
import {appArmorProfile, seccompAnnotations, seccompProfile} from './profiles.js';

const capabilities: ReadonlySet<string> = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(' '),
);

const defaultCapabilities: PodCheck = ({spec}) => {
  const beyond = (added: readonly string[] | undefined): string[] => (added ?? []).filter(capability => !capabilities.has(capability));
  const bad = containersWhere(spec, ({securityContext}) => beyond(securityContext?.capabilities?.add).length > 0);
  if (bad.length === 0) return undefined;
  const all = sorted(containersOf(spec).flatMap(({securityContext}) => beyond(securityContext?.capabilities?.add)));
  return {
    reason: 'non-default capabilities',
    detail: `${containersNamed(bad)} must not include ${quoteList(all)} in securityContext.capabilities.add`,
  };
};

const hostNamespaces: PodCheck = ({spec}) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter(field => spec[field]);
  return shared.length > 0 ? {reason: 'host namespaces', detail: shared.map(field => `${field}=true`).join(', ')} : undefined;
};

const hostPathVolumes: PodCheck = ({spec}) => {
  const bad = (spec.volumes ?? []).filter(({hostPath}) => hostPath).map(({name}) => name);
  return bad.length > 0 ? {reason: 'hostPath volumes', detail: `${plural(bad.length, 'volume')} ${quoteList(bad)}`} : undefined;
};

const hostPorts: PodCheck = ({spec}) => {
  const bad = containersWhere(spec, ({ports}) => Boolean(ports?.some(({hostPort}) => hostPort)));
  if (bad.length === 0) return undefined;
  const ports = sorted(
    containersOf(spec).flatMap(container => (container.ports ?? []).flatMap(({hostPort}) => (hostPort ? String(hostPort) : []))),
  );
  return {
    reason: 'hostPort',
    detail: `${containersNamed(bad)} ${plural(bad.length, 'uses', 'use')} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`,
  };
};

const hostsOf = (handler: Probe | LifecycleHandler | undefined): string[] =>
  [handler?.httpGet?.host, handler?.tcpSocket?.host].filter(host => host !== undefined && host !== '') as string[];

const probeHosts: PodCheck = ({spec}) => {
  const named = containersOf(spec).map(({name, livenessProbe, readinessProbe, startupProbe, lifecycle}) => ({
    name,
    hosts: [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap(hostsOf),
  }));
  const bad = sorted(named.filter(({hosts}) => hosts.length > 0).map(({name}) => name));
  if (bad.length === 0) return undefined;
  const hosts = sorted(named.flatMap(one => one.hosts));
  return {
    reason: 'probe or lifecycle host',
    detail: `${containersNamed(bad)} ${plural(bad.length, 'uses', 'use')} ${plural(hosts.length, 'probe or lifecycle host')} ${quoteList(hosts)}`,
  };
};

const privileged: PodCheck = ({spec}) => {
  const bad = containersWhere(spec, ({securityContext}) => securityContext?.privileged === true);
  return bad.length > 0
    ? {reason: 'privileged', detail: `${containersNamed(bad)} must not set securityContext.privileged=true`}
    : undefined;
};

/** Also a check of the restricted level, where user namespaces do not exempt from it. */
export const procMount: PodCheck = ({spec}) => {
  const unusual = (type: string | undefined): boolean => type !== undefined && type !== 'Default';
  const bad = containersWhere(spec, ({securityContext}) => unusual(securityContext?.procMount));
  if (bad.length === 0) return undefined;
  const types = sorted(
    containersOf(spec).flatMap(({securityContext}) => (unusual(securityContext?.procMount) ? securityContext!.procMount! : [])),
  );
  return {reason: 'procMount', detail: `${containersNamed(bad)} must not set securityContext.procMount to ${quoteList(types)}`};
};

const seLinuxOptions =
  (...allowed: readonly string[]): PodCheck =>
  ({spec}) => {
    const isBad = (options: SELinuxOptions | undefined): boolean =>
      options !== undefined &&
      (!(options.type === undefined || options.type === '' || allowed.includes(options.type)) ||
        Boolean(options.user) ||
        Boolean(options.role));
    const byPod = isBad(spec.securityContext?.seLinuxOptions);
    const sources = settingSources(
      byPod,
      containersWhere(spec, ({securityContext}) => isBad(securityContext?.seLinuxOptions)),
    );
    if (sources.length === 0) return undefined;
    const all = [
      spec.securityContext?.seLinuxOptions,
      ...containersOf(spec).map(({securityContext}) => securityContext?.seLinuxOptions),
    ].filter(options => options !== undefined);
    const types = sorted(all.flatMap(({type}) => (type && !allowed.includes(type) ? type : [])));
    const what = [
      ...(types.length > 0 ? [`${plural(types.length, 'type')} ${quoteList(types)}`] : []),
      ...(all.some(({user}) => user) ? ['user may not be set'] : []),
      ...(all.some(({role}) => role) ? ['role may not be set'] : []),
    ];
    return {reason: 'seLinuxOptions', detail: `${sources.join(' and ')} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`};
  };

const seLinuxTypes = ['container_t', 'container_init_t', 'container_kvm_t'];

const oldest = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const since27 = [...oldest, 'net.ipv4.ip_local_reserved_ports'];
const since29 = [...since27, ...['time', 'intvl', 'probes'].map(what => `net.ipv4.tcp_keepalive_${what}`), 'net.ipv4.tcp_fin_timeout'];
const since32 = [...since29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

const sysctls =
  (allowed: readonly string[]): PodCheck =>
  ({spec}) => {
    const bad = (spec.securityContext?.sysctls ?? []).map(({name}) => name).filter(name => !allowed.includes(name));
    return bad.length > 0 ? {reason: 'forbidden sysctls', detail: bad.join(', ')} : undefined;
  };

const windowsHostProcess: PodCheck = ({spec}) => {
  const byPod = spec.securityContext?.windowsOptions?.hostProcess === true;
  const sources = settingSources(
    byPod,
    containersWhere(spec, ({securityContext}) => securityContext?.windowsOptions?.hostProcess === true),
  );
  return sources.length > 0
    ? {reason: 'hostProcess', detail: `${sources.join(' and ')} must not set securityContext.windowsOptions.hostProcess=true`}
    : undefined;
};

/** The baseline level: prevents known privilege escalations. */
export const baseline: readonly Check[] = [
  {id: 'appArmorProfile', level: 'baseline', since: [[0, appArmorProfile]]},
  {id: 'capabilities_baseline', level: 'baseline', since: [[0, defaultCapabilities]]},
  {id: 'hostNamespaces', level: 'baseline', since: [[0, hostNamespaces]]},
  {id: 'hostPathVolumes', level: 'baseline', since: [[0, hostPathVolumes]]},
  {id: 'hostPorts', level: 'baseline', since: [[0, hostPorts]]},
  {id: 'hostProbesAndHostLifecycle', level: 'baseline', since: [[34, probeHosts]]},
  {id: 'privileged', level: 'baseline', since: [[0, privileged]]},
  {
    id: 'procMount',
    level: 'baseline',
    since: [
      [0, procMount],
      [35, exceptInUserNamespace(procMount)],
    ],
  },
  {
    id: 'seLinuxOptions',
    level: 'baseline',
    since: [
      [0, seLinuxOptions(...seLinuxTypes)],
      [31, seLinuxOptions(...seLinuxTypes, 'container_engine_t')],
    ],
  },
  {
    id: 'seccompProfile_baseline',
    level: 'baseline',
    since: [
      [0, seccompAnnotations],
      [19, seccompProfile({demanded: false})],
    ],
  },
  {
    id: 'sysctls',
    level: 'baseline',
    since: [
      [0, sysctls(oldest)],
      [27, sysctls(since27)],
      [29, sysctls(since29)],
      [32, sysctls(since32)],
    ],
  },
  {id: 'windowsHostProcess', level: 'baseline', since: [[0, windowsHostProcess]]},
];
