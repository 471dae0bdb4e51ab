// The CPUs that `--reserved-cpus` keeps from pods. Pure.

import {messageOf} from '#src/base/message.js';
import {cpusOf, type CpuTopology} from './cpu-topology.js';
import {formatCpuSet, isSubset, noCpus, parseCpuSet, type CpuSet} from './cpuset.js';

/** Returns the reserved CPUs; none if the setting is empty. Throws if the machine does not have them. */
export const reservedCpus = (text: string, {places}: CpuTopology): CpuSet => {
  if (text === '') return noCpus;
  const online = cpusOf(places);
  const reserved = parsed(text);
  if (!isSubset(reserved, online)) throw new Error(`reserved-cpus: ${text} is not a subset of online-cpus: ${formatCpuSet(online)}`);
  return reserved;
};

const parsed = (text: string): CpuSet => {
  try {
    return parseCpuSet(text);
  } catch (cause) {
    throw new Error(`unable to parse reserved-cpus list: ${messageOf(cause)}`, {cause});
  }
};

interface ReservedAmounts {
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
}

/** Returns the settings with the number of reserved CPUs in place of the cpu amounts that are reserved. */
export const withReservedCpus = <S extends ReservedAmounts>(settings: S, reserved: CpuSet): S => {
  if (reserved.size === 0) return settings;
  const {cpu: _, ...kubeReserved} = settings.kubeReserved;
  return {...settings, kubeReserved, systemReserved: {...settings.systemReserved, cpu: String(reserved.size)}};
};
