import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {dataKeyProblems} from '#src/resources/validation/names.js';
import {alike} from '#src/resources/versions.js';
import {validateStrategy} from './lease.js';

type LeaseCandidate = ObjectOf<typeof kinds.leaseCandidates>;

const semantic =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const notSemantic = 'must be a valid semantic version';

/** Returns the parts of a version that are compared (semver.org, 10); undefined if it is invalid. */
const partsOf = (text: string): {readonly numbers: readonly number[]; readonly before: readonly string[]} | undefined => {
  const [, major, minor, patch, before] = semantic.exec(text) ?? [];
  return major === undefined ? undefined : {numbers: [major, minor, patch].map(Number), before: before?.split('.') ?? []};
};

const compareWords = (a: string, b: string): number => {
  const [left, right] = [a, b].map(word => (/^\d+$/.test(word) ? Number(word) : undefined));
  if (left !== undefined && right !== undefined) return left - right;
  if (left !== undefined || right !== undefined) return left !== undefined ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};

/** Reports whether a version precedes another (semver.org, 11). */
const isBelow = (a: string, b: string): boolean => {
  const [left, right] = [partsOf(a)!, partsOf(b)!];
  for (let i = 0; i < 3; i++) if (left.numbers[i] !== right.numbers[i]) return left.numbers[i]! < right.numbers[i]!;
  if (left.before.length === 0 || right.before.length === 0) return left.before.length > right.before.length;
  for (const [i, word] of left.before.entries()) {
    const other = right.before[i];
    if (other === undefined) return false;
    const order = compareWords(word, other);
    if (order !== 0) return order < 0;
  }
  return left.before.length < right.before.length;
};

/** Reports whether a text is not a version, or version zero. */
const isNothing = (text: string): boolean => {
  const parts = partsOf(text);
  return !parts || (parts.before.length === 0 && parts.numbers.every(number => number === 0));
};

const versionOf = (text: string): string => (semantic.test(text) ? text : '0.0.0');

function* validate(
  {spec = {} as NonNullable<LeaseCandidate['spec']>}: Readonly<LeaseCandidate>,
  old: Readonly<LeaseCandidate> | undefined,
): Iterable<FieldError> {
  const {leaseName, emulationVersion, binaryVersion, strategy} = spec;
  if (!leaseName) yield required('spec.leaseName');
  if (emulationVersion && !semantic.test(emulationVersion)) yield invalid('spec.emulationVersion', emulationVersion, notSemantic);
  if (!binaryVersion) yield required('spec.binaryVersion');
  else if (!semantic.test(binaryVersion)) yield invalid('spec.binaryVersion', binaryVersion, notSemantic);
  // An invalid version counts as zero.
  if (binaryVersion && emulationVersion && isBelow(versionOf(binaryVersion), versionOf(emulationVersion))) {
    yield invalid('spec.binaryVersion', binaryVersion, 'must be greater than or equal to `emulationVersion`');
  }
  if (!strategy) yield required('spec.strategy');
  else {
    if (strategy === 'OldestEmulationVersion' && isNothing(emulationVersion ?? '')) {
      yield required('spec.emulationVersion', "must be specified when `strategy` is 'OldestEmulationVersion'");
    }
    yield* validateStrategy(strategy);
  }
  if (old) yield* immutable('spec.leaseName', leaseName, old.spec?.leaseName);
}

/** LeaseCandidate: a possible holder of a lease, with the versions by which it is elected. */
export const leaseCandidates = defineResource<LeaseCandidate>({
  kind: kinds.leaseCandidates,
  served: {otherVersions: [alike<LeaseCandidate>(kinds.leaseCandidatesV1alpha2, {deprecation: {since: 'v1.35', until: 'v1.38'}})]},
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: name => dataKeyProblems(name), anyFinalizers: true},
  update: {createsMissing: true, unconditional: false},
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  presentation: {
    columns: [
      nameColumn,
      {name: 'LeaseName', description: 'The lease it could hold.', of: ({spec}) => spec?.leaseName ?? ''},
      {name: 'BinaryVersion', description: 'The version of the program.', of: ({spec}) => spec?.binaryVersion ?? ''},
      {name: 'EmulationVersion', description: 'The version it behaves as.', of: ({spec}) => spec?.emulationVersion ?? ''},
      ageColumn,
    ],
  },
});
