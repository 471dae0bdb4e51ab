import {invalid, tooLong, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseCertificate, isAuthority} from '#src/pki/certificate.js';
import {pemBlocks, type PemBlock} from '#src/pki/encoding/pem.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {each} from '#src/resources/validation/values.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {bundleNameProblems} from './bundle-name.js';
import {validateSignerName} from './signer-name.js';

type ClusterTrustBundle = ObjectOf<typeof kinds.clusterTrustBundles>;

const largestBundle = 1024 * 1024;
const bundlePath = 'spec.trustBundle';

const signerOf = ({spec}: Readonly<ClusterTrustBundle>): string => spec?.signerName ?? '';

function* validateName(bundle: Readonly<ClusterTrustBundle>): Iterable<FieldError> {
  const {name, generateName} = bundle.metadata ?? {};
  const problems = bundleNameProblems(signerOf(bundle));
  if (generateName) yield* each('metadata.generateName', generateName, problems(generateName, true));
  if (name) yield* each('metadata.name', name, problems(name, false));
}

const anchorProblem = ({label, headers, bytes}: PemBlock): string | undefined => {
  if (label !== 'CERTIFICATE') return `has bad block type: ${label}`;
  if (Object.keys(headers).length > 0) return 'has PEM block headers';
  try {
    return isAuthority(parseCertificate(bytes)) ? undefined : 'does not have the CA bit set';
  } catch {
    return 'does not parse as X.509';
  }
};

/** Validates that a bundle has only certificates of authorities, each once. */
function* validateAnchors(bundle: string): Iterable<FieldError> {
  const wrong = (detail: string) => invalid(bundlePath, '<value omitted>', detail);
  if (Buffer.byteLength(bundle) > largestBundle) return yield tooLong(bundlePath, largestBundle);
  const blocks = [...pemBlocks(Buffer.from(bundle))];
  const problems = blocks.flatMap((block, i) => {
    const problem = anchorProblem(block);
    return problem ? [wrong(`entry ${i} ${problem}`)] : [];
  });
  if (problems.length > 0) return yield* problems;
  if (blocks.length === 0) yield wrong('at least one trust anchor must be provided');
  const places = new Map<string, number[]>();
  for (const [i, {bytes}] of blocks.entries()) {
    const content = bytes.toString('base64');
    places.set(content, [...(places.get(content) ?? []), i]);
  }
  for (const indices of places.values()) {
    if (indices.length > 1) yield wrong(`duplicate trust anchor (indices [${indices.join(' ')}])`);
  }
}

const selectableFields = {'spec.signerName': signerOf};

/** ClusterTrustBundle: trust anchors for the whole cluster, with or without a signer (KEP-3257). */
export const clusterTrustBundles = defineResource<ClusterTrustBundle>({
  kind: kinds.clusterTrustBundles,
  served: {
    gates: ['ClusterTrustBundle'],
    otherVersions: [
      sameFieldsVersion(kinds.clusterTrustBundlesV1alpha1, {deprecation: {since: 'v1.34', until: 'v1.37'}, selectableFields}),
    ],
  },
  metadata: {
    // The name is validated together with the signer.
    nameProblems: () => [],
  },
  update: {unconditional: false},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    *validate(bundle, old) {
      const [signer, anchors] = [signerOf(bundle), bundle.spec?.trustBundle ?? ''];
      yield* validateName(bundle);
      if (signer) yield* validateSignerName('spec.signerName', signer);
      // An unchanged bundle stays valid, even if parsing changes.
      if (anchors !== old?.spec?.trustBundle) yield* validateAnchors(anchors);
      if (old) yield* immutable('spec.signerName', signer, signerOf(old));
    },
  },
  selection: {fields: selectableFields},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'SignerName',
        description: 'The signer whose certificates these anchors vouch for.',
        of: bundle => signerOf(bundle) || '<none>',
      },
    ],
  },
});
