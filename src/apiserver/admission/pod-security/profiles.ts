// The checks of AppArmor and seccomp profiles, including the annotations that preceded the fields.

import {containersOf} from '#src/model/pod/containers.js';
import {containersNamed, containersWhere, plural, quoteList, settingSources, sorted, type PodCheck} from './check.js';

const allowedTypes = ['RuntimeDefault', 'Localhost'];
const isOther = (type: string | undefined): boolean => type !== undefined && !allowedTypes.includes(type);

/** AppArmor profiles: by the field, and by the older annotations. */
export const appArmorProfile: PodCheck = ({annotations, spec, naming}) => {
  const typeOf = ({securityContext}: {readonly securityContext?: {readonly appArmorProfile?: {readonly type: string}}}) =>
    securityContext?.appArmorProfile?.type;
  const byPod = typeOf(spec);
  const sources = settingSources(
    isOther(byPod),
    containersWhere(spec, container => isOther(typeOf(container))),
  );
  const types = sorted([byPod, ...containersOf(spec).map(typeOf)].filter(isOther) as string[]);
  const prefix = naming.subKey('container.apparmor.security.beta', '');
  const marks = Object.entries(annotations)
    .filter(([key, value]) => key.startsWith(prefix) && value !== '' && value !== 'runtime/default' && !value.startsWith('localhost/'))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  if (marks.length > 0) sources.push(plural(marks.length, 'annotation'));
  const values = [...types, ...marks];
  return sources.length > 0
    ? {
        reason: plural(values.length, 'forbidden AppArmor profile'),
        detail: `${sources.join(' and ')} must not set AppArmor profile type to ${quoteList(values)}`,
      }
    : undefined;
};

/** Seccomp profiles as annotations, before the field existed. */
export const seccompAnnotations: PodCheck = ({annotations, spec, naming}) => {
  const pod = naming.subKey('seccomp.security.alpha', 'pod');
  const keys = [pod, ...containersOf(spec).map(({name}) => naming.subKey('container.seccomp.security.alpha', name))];
  const isAllowed = (value: string): boolean => value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
  const bad = sorted(
    keys.flatMap(key =>
      annotations[key] === undefined || isAllowed(annotations[key]) ? [] : `${key}=${JSON.stringify(annotations[key])}`,
    ),
  );
  return bad.length > 0 ? {reason: 'seccompProfile', detail: `forbidden ${plural(bad.length, 'annotation')} ${bad.join(', ')}`} : undefined;
};

/**
 * Seccomp profiles: set ones must be known, and where they are required each container needs one, its own or the pod's.
 */
export const seccompProfile =
  ({demanded}: {readonly demanded: boolean}): PodCheck =>
  ({spec}) => {
    const own = spec.securityContext?.seccompProfile?.type;
    const typeOf = (container: {readonly securityContext?: {readonly seccompProfile?: {readonly type: string}}}) =>
      container.securityContext?.seccompProfile?.type;
    const sources = settingSources(
      isOther(own),
      containersWhere(spec, container => isOther(typeOf(container))),
    );
    if (sources.length > 0) {
      const types = sorted([own, ...containersOf(spec).map(typeOf)].filter(isOther) as string[]);
      return {
        reason: 'seccompProfile',
        detail: `${sources.join(' and ')} must not set securityContext.seccompProfile.type to ${quoteList(types)}`,
      };
    }
    const bare = demanded && own === undefined ? containersWhere(spec, container => typeOf(container) === undefined) : [];
    return bare.length > 0
      ? {
          reason: 'seccompProfile',
          detail: `pod or ${containersNamed(bare)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
        }
      : undefined;
  };
