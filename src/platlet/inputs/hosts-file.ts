// The hosts file of a pod.

import type {Frozen} from '#src/api/key.js';
import type {PodSpec} from '#src/api/pod.js';

type HostAlias = NonNullable<Frozen<PodSpec>['hostAliases']>[number];

const localEntries = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

const text = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('');

const aliasLines = (aliases: readonly HostAlias[]): string[] =>
  aliases.length === 0
    ? []
    : ['', '# Entries added by HostAliases.', ...aliases.map(({ip, hostnames = []}) => [ip, ...hostnames].join('\t'))];

export interface HostsFileInputs {
  readonly addresses: readonly string[];
  readonly hostname: string;
  /** Empty if the pod has no domain. */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
}

/** Returns the hosts file of a pod with a network of its own. */
export const podHostsFile = ({addresses, hostname, domain, aliases}: HostsFileInputs): string => {
  const entries = addresses.map(address => [address, ...(domain ? [`${hostname}.${domain}`] : []), hostname].join('\t'));
  return text([...localEntries, ...entries, ...aliasLines(aliases)]);
};

/** Returns the hosts file of a pod in the host network: that of the host with the host aliases appended. */
export const hostNetworkHostsFile = (own: string, aliases: readonly HostAlias[]): string =>
  `# Kubernetes-managed hosts file (host network).\n${own}${text(aliasLines(aliases))}`;
