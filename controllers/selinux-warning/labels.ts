import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {specContainersOf} from './containers.js';

type Options = NonNullable<NonNullable<PodSpec['securityContext']>['seLinuxOptions']>;

/** Returns the label of options. Parts that are not set stay empty: what nodes put there is not known here. */
export const labelOf = ({user = '', role = '', type = '', level = ''}: Frozen<Options> = {}): string => {
  const label = [user, role, type, level].join(':');
  return label === ':::' ? '' : label;
};

/** Whether two labels differ in a part that both have. The level may contain colons. */
export const labelsConflict = (one: string, other: string): boolean => {
  const partsOf = (label: string) => /^([^:]*):?([^:]*):?([^:]*):?(.*)$/s.exec(label)!.slice(1);
  const others = partsOf(other);
  return partsOf(one).some((part, index) => part !== '' && others[index] !== '' && part !== others[index]);
};

/** Returns the labels that a pod's containers want for each volume that they mount. */
export const labelsByVolume = ({spec}: Frozen<Pod>): ReadonlyMap<string, ReadonlySet<string>> => {
  const labels = new Map<string, Set<string>>();
  for (const {volumeMounts = [], securityContext} of specContainersOf(spec)) {
    const options = securityContext?.seLinuxOptions ?? spec?.securityContext?.seLinuxOptions;
    for (const {name} of volumeMounts) labels.set(name, (labels.get(name) ?? new Set()).add(labelOf(options)));
  }
  return labels;
};
