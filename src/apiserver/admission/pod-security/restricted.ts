import {containersOf} from '#src/model/pod/containers.js';
import {procMount} from './baseline.js';
import {
  exceptInUserNamespace,
  exceptOnWindows,
  containersNamed,
  containersWhere,
  plural,
  quoteList,
  settingSources,
  sorted,
  type Check,
  type PodCheck,
} from './check.js';
import {seccompProfile} from './profiles.js';

const allowPrivilegeEscalation: PodCheck = ({spec}) => {
  const bad = containersWhere(spec, ({securityContext}) => securityContext?.allowPrivilegeEscalation !== false);
  return bad.length > 0
    ? {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${containersNamed(bad)} must set securityContext.allowPrivilegeEscalation=false`,
      }
    : undefined;
};

const capabilities: PodCheck = ({spec}) => {
  const beyond = (added: readonly string[] | undefined): string[] => (added ?? []).filter(capability => capability !== 'NET_BIND_SERVICE');
  const keeping = containersWhere(spec, ({securityContext}) => !securityContext?.capabilities?.drop?.includes('ALL'));
  const adding = containersWhere(spec, ({securityContext}) => beyond(securityContext?.capabilities?.add).length > 0);
  const added = sorted(containersOf(spec).flatMap(({securityContext}) => beyond(securityContext?.capabilities?.add)));
  const details = [
    ...(keeping.length > 0 ? [`${containersNamed(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0 ? [`${containersNamed(adding)} must not include ${quoteList(added)} in securityContext.capabilities.add`] : []),
  ];
  return details.length > 0 ? {reason: 'unrestricted capabilities', detail: details.join('; ')} : undefined;
};

const allowedVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const volumes: PodCheck = ({spec}) => {
  const typesOf = (volume: object): string[] => Object.keys(volume).filter(field => field !== 'name');
  const bad = (spec.volumes ?? []).filter(volume => !typesOf(volume).some(type => allowedVolumes.includes(type)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(volume => typesOf(volume)[0] ?? 'unknown'));
  const names = bad.map(({name}) => name);
  return {
    reason: 'restricted volume types',
    detail: `${plural(names.length, 'volume')} ${quoteList(names)} ${plural(names.length, 'uses', 'use')} ${plural(types.length, 'restricted volume type')} ${quoteList(types)}`,
  };
};

const runAsNonRoot: PodCheck = ({spec}) => {
  const own = spec.securityContext?.runAsNonRoot;
  const sources = settingSources(
    own === false,
    containersWhere(spec, ({securityContext}) => securityContext?.runAsNonRoot === false),
  );
  const reason = 'runAsNonRoot != true';
  if (sources.length > 0) return {reason, detail: `${sources.join(' and ')} must not set securityContext.runAsNonRoot=false`};
  const bare = own ? [] : containersWhere(spec, ({securityContext}) => securityContext?.runAsNonRoot === undefined);
  return bare.length > 0 ? {reason, detail: `pod or ${containersNamed(bare)} must set securityContext.runAsNonRoot=true`} : undefined;
};

const runAsUser: PodCheck = ({spec}) => {
  const sources = settingSources(
    spec.securityContext?.runAsUser === 0,
    containersWhere(spec, ({securityContext}) => securityContext?.runAsUser === 0),
  );
  return sources.length > 0 ? {reason: 'runAsUser=0', detail: `${sources.join(' and ')} must not set runAsUser=0`} : undefined;
};

const demandedSeccomp = seccompProfile({demanded: true});

/** The restricted level: current best practice of hardening, at the cost of some compatibility. */
export const restricted: readonly Check[] = [
  {
    id: 'allowPrivilegeEscalation',
    level: 'restricted',
    since: [
      [8, allowPrivilegeEscalation],
      [25, exceptOnWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    since: [
      [22, capabilities],
      [25, exceptOnWindows(capabilities)],
    ],
    overrides: 'capabilities_baseline',
  },
  {id: 'procMount_restricted', level: 'restricted', since: [[35, procMount]], overrides: 'procMount'},
  {id: 'restrictedVolumes', level: 'restricted', since: [[0, volumes]], overrides: 'hostPathVolumes'},
  {
    id: 'runAsNonRoot',
    level: 'restricted',
    since: [
      [0, runAsNonRoot],
      [35, exceptInUserNamespace(runAsNonRoot)],
    ],
  },
  {
    id: 'runAsUser',
    level: 'restricted',
    since: [
      [23, runAsUser],
      [35, exceptInUserNamespace(runAsUser)],
    ],
  },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    since: [
      [19, demandedSeccomp],
      [25, exceptOnWindows(demandedSeccomp)],
    ],
    overrides: 'seccompProfile_baseline',
  },
];
