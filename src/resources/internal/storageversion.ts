import {duplicate, invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabel1035Problems, dnsSubdomainProblems, emptyText, patternText} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {each, qualifiedName} from '#src/resources/validation/values.js';

type StorageVersion = ObjectOf<typeof kinds.storageVersions>;
type Status = NonNullable<StorageVersion['status']>;
type ServerVersions = NonNullable<Status['storageVersions']>[number];

const nameProblems = (name: string): readonly string[] => {
  const dot = name.lastIndexOf('.');
  if (dot < 0) return ['name must be in the form of <group>.<resource>'];
  return [
    ...dnsSubdomainProblems(name.slice(0, dot)).map(problem => `the group segment ${problem}`),
    ...dnsLabel1035Problems(name.slice(dot + 1)).map(problem => `the resource segment ${problem}`),
  ];
};

const formText = `an apiVersion is ${patternText(
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  'my-name',
  'abc-123',
)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`;

const partProblems = (part: string, text: string, problems: (text: string) => readonly string[]): string[] =>
  (text === '' ? [emptyText] : problems(text)).map(problem => `${part} part: ${problem}`);

function* validateApiVersion(path: string, apiVersion: string): Iterable<FieldError> {
  const parts = apiVersion.split('/');
  const [version = '', group] = parts.toReversed();
  const problems =
    parts.length > 2
      ? [formText]
      : [
          ...(group === undefined ? [] : partProblems('group', group, dnsSubdomainProblems)),
          ...partProblems('version', version, dnsLabel1035Problems),
        ];
  if (problems.length > 0) yield invalid(path, apiVersion, problems.join(','));
}

function* validateServer(server: Readonly<ServerVersions>, path: string): Iterable<FieldError> {
  const {apiServerID: id = '', encodingVersion = '', decodableVersions, servedVersions = []} = server;
  const decodable = decodableVersions ?? [];
  yield* each(`${path}.apiServerID`, id, dnsSubdomainProblems(id));
  yield* validateApiVersion(`${path}.encodingVersion`, encodingVersion);
  for (const [i, version] of decodable.entries()) yield* validateApiVersion(`${path}.decodableVersions[${i}]`, version);
  if (!decodable.includes(encodingVersion)) {
    yield invalid(`${path}.decodableVersions`, decodableVersions, `decodableVersions must include encodingVersion ${encodingVersion}`);
  }
  for (const [i, version] of servedVersions.entries()) {
    const at = `${path}.servedVersions[${i}]`;
    yield* validateApiVersion(at, version);
    if (decodable.includes(version)) continue;
    yield invalid(at, version, `individual served version : ${version} must be included in decodableVersions : [${decodable.join(' ')}]`);
  }
}

/** Returns the version in which all servers encode; undefined if they differ or there are none. */
const commonVersion = (servers: readonly Readonly<ServerVersions>[]): string | undefined => {
  const [first, ...others] = servers.map(({encodingVersion = ''}) => encodingVersion);
  return others.every(version => version === first) ? first : undefined;
};

const nothingCommon =
  'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet';

function* validateCommon({storageVersions = [], commonEncodingVersion}: Readonly<Status>): Iterable<FieldError> {
  const path = 'status.commonEncodingVersion';
  const [actual, reported] = [commonVersion(storageVersions), commonEncodingVersion ?? undefined];
  if (actual === reported) return;
  if (actual === undefined) yield invalid(path, reported, nothingCommon);
  else
    yield invalid(
      path,
      reported,
      reported === undefined ? `the common encoding version is ${actual}` : `the actual common encoding version is ${actual}`,
    );
}

/** The paths omit the name of the list, as they do upstream. */
function* validateConditions(conditions: NonNullable<Status['conditions']>): Iterable<FieldError> {
  const seen = new Map<string, number>();
  for (const [i, {type, status, reason, message}] of conditions.entries()) {
    const at = `status[${i}]`;
    const first = seen.get(type);
    if (first !== undefined)
      yield invalid(`${at}.type`, type, `the type of the condition is not unique, it also appears in conditions[${first}]`);
    seen.set(type, i);
    yield* qualifiedName(`${at}.type`, type);
    yield* qualifiedName(`${at}.status`, status);
    if (!reason) yield required(`${at}.reason`);
    if (!message) yield required(`${at}.message`);
  }
}

function* validateStatus(status: Readonly<Status>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, server] of (status.storageVersions ?? []).entries()) {
    const at = `status.storageVersions[${i}]`;
    const {apiServerID: id = ''} = server;
    if (seen.has(id)) yield duplicate(`${at}.apiServerID`, id);
    seen.add(id);
    yield* validateServer(server, at);
  }
  yield* validateCommon(status);
  yield* validateConditions(status.conditions ?? []);
}

const maxShown = 3;

const versionsText = ({status}: Readonly<StorageVersion>): string => {
  const servers = status?.storageVersions ?? [];
  const text = servers
    .slice(0, maxShown)
    .map(({apiServerID, encodingVersion}) => `${apiServerID ?? ''}=${encodingVersion ?? ''}`)
    .join(',');
  return servers.length > maxShown ? `${text} + ${servers.length - maxShown} more...` : text || '<unset>';
};

/** StorageVersion: the versions in which each server encodes and decodes one resource, which its name identifies. */
export const storageVersions = defineResource<StorageVersion>({
  kind: kinds.storageVersions,
  served: {gates: ['StorageVersionAPI', 'APIServerIdentity']},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems},
  update: {unconditional: false},
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}},
  subresources: {
    status: {
      writes: {update: ['status']},
      validate: ({status}) => validateStatus(status ?? {}),
    },
  },
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'CommonEncodingVersion',
        description: 'The version all servers encode in, once they agree.',
        of: ({status}) => status?.commonEncodingVersion ?? '<unset>',
      },
      {name: 'StorageVersions', description: 'The version each server encodes in.', of: versionsText},
      ageColumn,
    ],
  },
});
