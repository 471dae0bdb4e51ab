// The host names of a pod.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';

/** The maximum length of a host name in the kernel. */
const longestName = 64;
const longestLabel = 63;

export interface PodNames {
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
}

/** Returns the host name and the domain of a pod; the subdomain names a headless Service. */
export const podNames = ({metadata, spec}: Frozen<Pod>, clusterDomain: string): PodNames => {
  const {hostname, subdomain} = spec ?? {};
  const override = (spec as {readonly hostnameOverride?: string} | undefined)?.hostnameOverride;
  if (override) return {hostname: override, domain: ''};
  const own = hostname || withoutEnd((metadata?.name ?? '').slice(0, longestLabel));
  return {hostname: own, domain: subdomain ? `${subdomain}.${metadata?.namespace ?? ''}.svc.${clusterDomain}` : ''};
};

/** Returns a name without trailing dashes and dots. */
const withoutEnd = (name: string): string => {
  let end = name.length;
  while (end > 0 && (name[end - 1] === '-' || name[end - 1] === '.')) end--;
  return name.slice(0, end);
};

/** Returns the host name set in the kernel. Throws if it is too long. */
export const kernelHostname = (pod: Frozen<Pod>, {hostname, domain}: PodNames): string => {
  if (!pod.spec?.setHostnameAsFQDN || !domain) return hostname;
  const full = `${hostname}.${domain}`;
  if (full.length > longestName)
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${longestName} is the max characters allowed, ${full.length} characters given)`,
    );
  return full;
};
