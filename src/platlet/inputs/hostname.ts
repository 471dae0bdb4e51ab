// The names that a pod has in its own network.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The longest name that the kernel takes. */
const longestName = 64;
const longestLabel = 63;

export interface PodNames {
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
}

/** Returns the host name and the domain of a pod, which names a headless Service by its subdomain. */
export const podNames = ({metadata, spec}: Frozen<Pod>, clusterDomain: string): PodNames => {
  const {hostname, subdomain} = spec ?? {};
  const override = (spec as {readonly hostnameOverride?: string} | undefined)?.hostnameOverride;
  if (override) return {hostname: override, domain: ''};
  const own = hostname || withoutEnd((metadata?.name ?? '').slice(0, longestLabel));
  return {hostname: own, domain: subdomain ? `${subdomain}.${metadata?.namespace ?? ''}.svc.${clusterDomain}` : ''};
};

/** Returns a name without the dashes and dots at its end. */
const withoutEnd = (name: string): string => {
  let end = name.length;
  while (end > 0 && (name[end - 1] === '-' || name[end - 1] === '.')) end--;
  return name.slice(0, end);
};

/** Returns the name that the kernel of the pod has. Throws if it would be too long. */
export const kernelHostname = (pod: Frozen<Pod>, {hostname, domain}: PodNames): string => {
  if (!pod.spec?.setHostnameAsFQDN || !domain) return hostname;
  const full = `${hostname}.${domain}`;
  if (full.length > longestName)
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${longestName} is the max characters allowed, ${full.length} characters given)`,
    );
  return full;
};
