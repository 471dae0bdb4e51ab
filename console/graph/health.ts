import type {AnyObject} from '#page/api/objects.js';
import {toneOf, type Tone} from '#page/ui/parts.js';

export interface Health {
  readonly word: string;
  readonly tone: Tone;
  readonly message?: string | undefined;
}

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Of conditions that state that all is well, those that matter most. */
const positive = ['Ready', 'Available', 'Established', 'Complete'];
const negative = ['Failed', 'ReplicaFailure', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable', 'Stalled', 'Degraded'];

const ofCounts = (wanted: number, ready: number): Health => ({
  word: `${ready}/${wanted} ready`,
  tone: wanted === 0 && ready === 0 ? 'plain' : ready >= wanted ? 'good' : ready > 0 ? 'waiting' : 'bad',
});

const ofReplicas = ({spec, status}: AnyObject): Health | undefined => {
  if (typeof spec?.['replicas'] !== 'number' || !status) return undefined;
  return ofCounts(spec['replicas'], number(status['readyReplicas']));
};

const ofDaemons = ({status}: AnyObject): Health | undefined => {
  if (typeof status?.['desiredNumberScheduled'] !== 'number') return undefined;
  return ofCounts(status['desiredNumberScheduled'], number(status['numberReady']));
};

const ofPod = ({spec, status}: AnyObject): Health | undefined => {
  if (!Array.isArray(spec?.['containers']) || !status?.phase) return undefined;
  const states = (status['containerStatuses'] ?? []) as readonly {
    ready?: boolean;
    state?: {waiting?: {reason?: string; message?: string}; terminated?: {reason?: string}};
  }[];
  const bad = states.find(({state}) => state?.waiting?.reason && state.waiting.reason !== 'ContainerCreating');
  if (bad) return {word: bad.state!.waiting!.reason!, tone: 'bad', message: bad.state!.waiting!.message};
  const ready = states.filter(each => each.ready).length;
  if (status.phase === 'Running') return {word: `Running ${ready}/${states.length}`, tone: ready === states.length ? 'good' : 'waiting'};
  const scheduled = status.conditions?.find(({type}) => type === 'PodScheduled');
  return {word: status.phase, tone: toneOf(status.phase), message: scheduled?.status === 'False' ? scheduled.message : undefined};
};

const ofConditions = ({status}: AnyObject): Health | undefined => {
  const conditions = status?.conditions ?? [];
  const wrong = conditions.find(({type, status: value}) => negative.includes(type) && value === 'True');
  if (wrong) return {word: wrong.type, tone: 'bad', message: wrong.message};
  const right = positive.map(type => conditions.find(each => each.type === type)).find(Boolean);
  if (!right) return undefined;
  const isTrue = right.status === 'True';
  return {
    word: isTrue ? right.type : `not ${right.type}`,
    tone: isTrue ? 'good' : right.status === 'Unknown' ? 'waiting' : 'bad',
    message: right.message,
  };
};

/** Returns how an object is, as far as it says so itself. */
export const healthOf = (object: AnyObject): Health | undefined => {
  if (object.metadata.deletionTimestamp)
    return {
      word: 'Terminating',
      tone: 'waiting',
      message: object.metadata.finalizers?.length ? `waits for ${object.metadata.finalizers.join(', ')}` : undefined,
    };
  const found = ofPod(object) ?? ofReplicas(object) ?? ofDaemons(object) ?? ofConditions(object);
  if (found) return found;
  return typeof object.status?.phase === 'string' ? {word: object.status.phase, tone: toneOf(object.status.phase)} : undefined;
};
