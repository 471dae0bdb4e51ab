import type {Kind} from '#src/api/kinds/index.js';
import type {GroupToken, Naming} from '#src/api/naming.js';

interface Deprecation {
  /** The original's releases that deprecated the version and that remove it. */
  readonly since: string;
  readonly until: string;
  /** The version that replaces it, if the original names one. */
  readonly successor?: string;
}

/** Deprecated versions by group. */
const deprecations: Partial<Record<GroupToken, Readonly<Record<string, Deprecation>>>> = {
  admissionregistration: {v1alpha1: {since: 'v1.35', until: 'v1.38'}},
  certificates: {v1alpha1: {since: 'v1.34', until: 'v1.37'}},
  coordination: {v1alpha2: {since: 'v1.35', until: 'v1.38'}},
  networking: {v1beta1: {since: 'v1.34', until: 'v1.37'}},
  resource: {v1beta1: {since: 'v1.35', until: 'v1.38'}},
  storage: {v1beta1: {since: 'v1.34', until: 'v1.37', successor: 'v1'}},
};

/** Returns the warning for requests in a deprecated version; undefined for other versions. */
export const deprecatedVersion = ({group, version, kind}: Kind, naming: Naming): string | undefined => {
  const deprecation = deprecations[group]?.[version];
  if (!deprecation) return undefined;
  const {since, until, successor} = deprecation;
  const replacement = successor ? `; use ${naming.apiVersion(group, successor)} ${kind}` : '';
  return `${naming.apiVersion(group, version)} ${kind} is deprecated in ${since}+, unavailable in ${until}+${replacement}`;
};
