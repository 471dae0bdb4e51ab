// The images of the suite that tests with real containers run, by their names without registry and version.

const special: readonly (readonly [RegExp, readonly string[]])[] = [
  [/AllowPrivilegeEscalation/, ['nonewprivs']],
  [/^\[sig-network\] DNS (?!.*configurable)/, ['jessie-dnsutils']],
  [/Update Demo/, ['nautilus']],
  [/Aggregator/, ['sample-apiserver', 'etcd']],
];

/** Most tests run a pod of each of these. */
const common = ['agnhost', 'busybox', 'pause'];

const nameOf = (reference: string): string => /([^/:]+):[^/]*$/.exec(reference)?.[1] ?? reference;

/** Returns the images that a test needs and that are not there, from all images that the suite names. */
export const missingImages = (test: string, ofSuite: readonly string[], present: ReadonlySet<string>): readonly string[] => {
  const names = new Set([...common, ...special.flatMap(([pattern, images]) => (pattern.test(test) ? images : []))]);
  return ofSuite.filter(
    reference =>
      /^registry\.k8s\.io\/(?:e2e-test-images\/)?[^/]+$/.test(reference) && names.has(nameOf(reference)) && !present.has(reference),
  );
};
