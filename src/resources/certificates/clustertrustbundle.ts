import {createHash} from 'node:crypto';
import {invalid, tooLong, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {parseCertificates} from '#src/pki/certificate.js';
import {pemBlocks, type PemBlock} from '#src/pki/pem.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {alike} from '#src/resources/versions.js';
import {validateSignerName} from './signer-name.js';

type Bundle = ObjectOf<typeof kinds.clusterTrustBundles>;

const largest = 1024 * 1024;

/** Bundles of a signer begin with its name, in which no slash can stand: a colon stands for it. */
const prefixOf = (signerName: string | undefined): string => (signerName ? `${signerName.replaceAll('/', ':')}:` : '');

function* validateName({metadata, spec}: Readonly<Bundle>): Iterable<FieldError> {
  const name = metadata?.name ?? '';
  const prefix = prefixOf(spec.signerName);
  if (!prefix) {
    if (name.includes(':')) yield invalid('metadata.name', name, 'ClusterTrustBundle without signer name must not have ":" in its name');
  } else if (!name.startsWith(prefix)) {
    yield invalid('metadata.name', name, `ClusterTrustBundle for signerName ${spec.signerName} must be named with prefix ${prefix}`);
  } else for (const problem of dnsSubdomainProblems(name.slice(prefix.length))) yield invalid('metadata.name', name, problem);
}

/** What is wrong with one block, in one phrase. */
const blockProblem = ({label, headers, bytes}: PemBlock): string | undefined => {
  if (label !== 'CERTIFICATE') return `has bad block type: ${label}`;
  if (Object.keys(headers).length > 0) return 'has PEM block headers';
  try {
    const [certificate, ...rest] = parseCertificates(bytes);
    if (!certificate || rest.length > 0) return 'does not parse as X.509';
    return certificate.basicConstraints?.isAuthority ? undefined : 'does not have the CA bit set';
  } catch {
    return 'does not parse as X.509';
  }
};

function* validateAnchors(text: string): Iterable<FieldError> {
  const path = 'spec.trustBundle';
  const omitted = '<value omitted>';
  if (Buffer.byteLength(text) > largest) return yield tooLong(path, largest);
  const places = new Map<string, number[]>();
  let isSound = true;
  for (const [i, block] of [...pemBlocks(text)].entries()) {
    const problem = blockProblem(block);
    if (problem) {
      isSound = false;
      yield invalid(path, omitted, `entry ${i} ${problem}`);
    } else {
      const hash = createHash('sha256').update(block.bytes).digest('hex');
      places.set(hash, [...(places.get(hash) ?? []), i]);
    }
  }
  if (!isSound) return;
  if (places.size === 0) yield invalid(path, omitted, 'at least one trust anchor must be provided');
  for (const indices of places.values()) if (indices.length > 1) yield invalid(path, omitted, `duplicate trust anchor (indices [${indices.join(' ')}])`);
}

function* validate(bundle: Readonly<Bundle>, old: Readonly<Bundle> | undefined): Iterable<FieldError> {
  yield* validateName(bundle);
  if (bundle.spec.signerName) yield* validateSignerName('spec.signerName', bundle.spec.signerName);
  // What was read once is not read again: readers change.
  if (!old || bundle.spec.trustBundle !== old.spec.trustBundle) yield* validateAnchors(bundle.spec.trustBundle ?? '');
  if (old) yield* immutable('spec.signerName', bundle.spec.signerName, old.spec.signerName);
}

const selectableFields = {'spec.signerName': ({spec}: Readonly<Bundle>): string => spec.signerName ?? ''};

/** Certificates to trust, for everybody to read, perhaps of one signer (KEP-3257). */
export const clusterTrustBundles = defineResource<Bundle>({
  kind: kinds.clusterTrustBundles,
  // Names carry the signer's; what they must be is judged together with it.
  nameProblems: (name, prefix) => (name.includes(':') ? [] : subdomainName(name, prefix)),
  otherVersions: [alike(kinds.clusterTrustBundlesV1alpha1, {selectableFields})],
  unconditionalUpdate: false,
  default(bundle) {
    bundle.spec ??= {trustBundle: ''};
  },
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  selectableFields,
});
