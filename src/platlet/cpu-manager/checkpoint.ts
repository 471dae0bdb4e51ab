// The content of the file `cpu_manager_state`, in the format of the original. Pure.

import {messageOf} from '#src/base/message.js';
import {fnv1a} from '#src/base/text/fnv.js';
import {goMap} from '#src/platlet/checkpoint/go-text.js';
import {corrupted, isFields, parsedFields} from '#src/platlet/checkpoint/fields.js';
import {formatCpuSet, parseCpuSet, type CpuSet} from '#src/platlet/topology/cpuset.js';

/** The exclusive CPUs of containers, by pod uid and container name. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

export interface CpuState {
  /** The CPUs of the shared pool. */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
}

type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

const checksumOf = (policy: string, shared: string, entries: Entries): number =>
  fnv1a(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policy} DefaultCPUSet:(string)${shared} Entries:(map[string]map[string]string)${goMap(
      Object.entries(entries),
      containers => goMap(Object.entries(containers), text => text),
    )} Checksum:(checksum.Checksum)0}`,
  );

/** Returns the content of the file. */
export const formatCpuState = (policyName: string, {shared, assignments}: CpuState): string => {
  const entries: Entries = Object.fromEntries(
    [...assignments].map(([uid, containers]) => [
      uid,
      Object.fromEntries([...containers].map(([name, cpus]) => [name, formatCpuSet(cpus)])),
    ]),
  );
  const defaultCpuSet = formatCpuSet(shared);
  const checksum = checksumOf(policyName, defaultCpuSet, entries);
  return JSON.stringify({policyName, defaultCpuSet, ...(assignments.size > 0 ? {entries} : {}), checksum});
};

const setOf = (text: string, what: string): CpuSet => {
  try {
    return parseCpuSet(text);
  } catch (cause) {
    throw new Error(`could not parse ${what}: ${messageOf(cause)}`, {cause});
  }
};

/** Parses the content of the file. Throws if it is corrupt, or was written under another policy. */
export const parseCpuState = (text: string, policyName: string): CpuState => {
  const file = parsedFields(text);
  const {policyName: written = '', defaultCpuSet = file['defaultCPUSet'] ?? '', entries = {}, checksum = 0} = file;
  const [policy, shared, all] = [String(written), String(defaultCpuSet), entriesOf(entries)];
  if (checksum !== 0 && checksum !== checksumOf(policy, shared, all)) throw corrupted();
  if (policy !== policyName)
    throw new Error(`configured policy ${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(policy)}`);
  return {
    shared: setOf(shared, `default cpu set ${JSON.stringify(shared)}`),
    assignments: new Map(
      Object.entries(all).map(([uid, containers]) => [
        uid,
        new Map(
          Object.entries(containers).map(([name, cpus]) => [
            name,
            setOf(cpus, `cpuset ${JSON.stringify(cpus)} for container ${JSON.stringify(name)} in pod ${JSON.stringify(uid)}`),
          ]),
        ),
      ]),
    ),
  };
};

const entriesOf = (value: unknown): Entries => {
  const isEntries = isFields(value) && Object.values(value).every(each => isFields(each) && Object.values(each).every(isText));
  if (!isEntries) throw corrupted();
  return value as Entries;
};

const isText = (value: unknown): boolean => typeof value === 'string';
