import {dnsLabelProblems} from '#src/api/names.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {bindingAction} from './binding.js';
import {podColumns, podRowConditions} from './columns.js';
import {defaultPod} from './defaults.js';
import {dropDisabledFields} from './disabled-fields.js';
import {evictionAction} from './eviction.js';
import {podConnectSubresources} from './connect.js';
import {countSpecChange, prepareNewPod, prepareResize, prepareStatus} from './prepare.js';
import {validateNewPod, validatePodUpdate} from './validation/pod.js';
import {podStatusWarnings, validatePodStatus} from './validation/status.js';
import {validateEphemeralUpdate, validateResize} from './validation/subresources.js';
import {podWarnings} from './warnings.js';

const isOver = ({status}: Readonly<Pod>): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/**
 * Pod: containers that run together on one node. It hardly changes after creation; its node runs it and reports its
 * status.
 */
export const pods = defineResource<Pod>({
  kind: kinds.pods,
  discovery: {shortNames: ['po'], categories: ['all']},
  storage: {alwaysPresent: {spec: {containers: []}, status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default: defaultPod,
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(pod, old, context) {
      if (old) dropDisabledFields(pod.spec, old.spec, context.gate);
      else prepareNewPod(pod, context);
    },
    validate: (pod, old, context) => (old ? validatePodUpdate(pod, old, context) : validateNewPod(pod, context)),
    *warn({metadata = {}, spec}, old, {naming}) {
      if (old) return;
      const problems = dnsLabelProblems(metadata.name ?? '');
      if (problems.length > 0) {
        yield `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`;
      }
      yield* podWarnings(spec!, metadata, '', naming);
    },
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      prepare: (pod, old, context) => prepareStatus(pod, old!, context),
      validate: (pod, old, context) => validatePodStatus(pod, old!, context),
      warn: podStatusWarnings,
    },
    ephemeralcontainers: {
      writes: {update: ['spec.ephemeralContainers']},
      prepare(pod, old, {gate}) {
        dropDisabledFields(pod.spec, old!.spec, gate);
        countSpecChange(pod, old!);
      },
      validate: (pod, old, context) => validateEphemeralUpdate(pod, old!, context),
    },
    resize: {
      writes: {update: ['spec.containers', 'spec.initContainers', 'spec.resources']},
      prepare: (pod, old, context) => prepareResize(pod, old!, context),
      validate: (pod, old, context) => validateResize(pod, old!, context),
    },
  },
  actions: {binding: bindingAction, eviction: evictionAction},
  connectSubresources: podConnectSubresources,
  deletion: {
    response: 'object',
    /** Returns 0 for a pod without a node, or one that has finished. */
    gracePeriod(pod, requested) {
      if (!pod.spec?.nodeName || isOver(pod)) return 0;
      const seconds = requested ?? pod.spec.terminationGracePeriodSeconds ?? 0;
      return seconds < 0 ? 1 : seconds;
    },
  },
  selection: {
    fields: {
      'spec.nodeName': ({spec}) => spec?.nodeName ?? '',
      'spec.host': ({spec}) => spec?.nodeName ?? '',
      'spec.restartPolicy': ({spec}) => spec?.restartPolicy ?? '',
      'spec.schedulerName': ({spec}) => spec?.schedulerName ?? '',
      'spec.serviceAccountName': ({spec}) => spec?.serviceAccountName ?? '',
      'spec.hostNetwork': ({spec}) => String(spec?.hostNetwork ?? false),
      'status.phase': ({status}) => status?.phase ?? '',
      'status.podIP': ({status}) => status?.podIPs?.[0]?.ip ?? '',
      // The field can be named in selectors, but has no value.
      'status.podIPs': () => '',
      'status.nominatedNodeName': ({status}) => status?.nominatedNodeName ?? '',
    },
  },
  presentation: {columns: podColumns, rowConditions: podRowConditions},
});
