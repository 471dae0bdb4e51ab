import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {dnsLabel1035Problems, dnsSubdomainProblems, labelKeyProblems} from '#src/api/names.js';
import {defineResource} from '#src/resources/definition.js';
import type {NameProblems} from '#src/resources/validation/names.js';

type StorageVersion = ObjectOf<typeof kinds.storageVersions>;
type ServerVersion = NonNullable<NonNullable<StorageVersion['status']>['storageVersions']>[number];
type Condition = NonNullable<NonNullable<StorageVersion['status']>['conditions']>[number];

/** The group and the resource that it tells of. */
const nameProblems: NameProblems = name => {
  const dot = name.lastIndexOf('.');
  if (dot < 0) return ['name must be in the form of <group>.<resource>'];
  return [
    ...dnsSubdomainProblems(name.slice(0, dot)).map(problem => `the group segment ${problem}`),
    ...dnsLabel1035Problems(name.slice(dot + 1)).map(problem => `the resource segment ${problem}`),
  ];
};

function* validateServer({apiServerID: id = '', encodingVersion: encoding = '', decodableVersions: decodable = []}: ServerVersion, path: string): Iterable<FieldError> {
  for (const problem of dnsSubdomainProblems(id)) yield invalid(`${path}.apiServerID`, id, problem);
  const encodingProblems = dnsLabel1035Problems(encoding);
  if (encodingProblems.length > 0) yield invalid(`${path}.encodingVersion`, encoding, encodingProblems.join(','));
  for (const [i, version] of decodable.entries()) {
    const problems = dnsLabel1035Problems(version);
    if (problems.length > 0) yield invalid(`${path}.decodableVersions[${i}]`, version, problems.join(','));
  }
  if (!decodable.includes(encoding)) yield invalid(`${path}.decodableVersions`, decodable, `decodableVersions must include encodingVersion ${encoding}`);
}

function* validateCommon(servers: readonly ServerVersion[], said: string | undefined): Iterable<FieldError> {
  const path = 'status.commonEncodingVersion';
  const versions = new Set(servers.map(({encodingVersion}) => encodingVersion ?? ''));
  const common = versions.size === 1 ? [...versions][0] : undefined;
  if (common === undefined && said !== undefined) {
    yield invalid(path, said, 'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet');
  } else if (common !== undefined && said === undefined) yield invalid(path, undefined, `the common encoding version is ${common}`);
  else if (common !== said) yield invalid(path, said, `the actual common encoding version is ${common}`);
}

function* validateConditions(conditions: readonly Condition[]): Iterable<FieldError> {
  const seen = new Map<string, number>();
  for (const [i, {type = '', status = '', reason, message}] of conditions.entries()) {
    // The short path is what callers of the original see.
    const path = `status[${i}]`;
    const at = seen.get(type);
    if (at !== undefined) yield invalid(`${path}.type`, type, `the type of the condition is not unique, it also appears in conditions[${at}]`);
    seen.set(type, i);
    for (const problem of labelKeyProblems(type)) yield invalid(`${path}.type`, type, problem);
    for (const problem of labelKeyProblems(status)) yield invalid(`${path}.status`, type, problem);
    if (!reason) yield required(`${path}.reason`, 'reason cannot be empty');
    if (!message) yield required(`${path}.message`, 'message cannot be empty');
  }
}

function* validateStatus({status = {}}: Readonly<StorageVersion>): Iterable<FieldError> {
  const servers = status.storageVersions ?? [];
  for (const [i, server] of servers.entries()) yield* validateServer(server, `status.storageVersions[${i}]`);
  yield* validateCommon(servers, status.commonEncodingVersion);
  yield* validateConditions(status.conditions ?? []);
}

/** In which version each server stores the objects of a resource, and which versions it can read. */
export const storageVersions = defineResource<StorageVersion>({
  kind: kinds.storageVersions,
  nameProblems,
  alwaysPresent: {spec: {}, status: {}},
  unconditionalUpdate: false,
  main: {writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}},
  subresources: {status: {writes: {update: ['metadata', 'status']}, validate: validateStatus}},
});
