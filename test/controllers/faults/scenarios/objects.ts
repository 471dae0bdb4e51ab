// The objects of the scenarios of several controllers.

import type {Pod} from '#src/api/pod.js';
import type {ObjectMeta} from '#src/api/types.js';
import {aTemplate} from '#test/controllers/workloads.js';
import type {Stage} from '#test/controllers/faults/stage.js';

export const labels = {app: 'a'};
export const selector = {matchLabels: labels};
export const template = (version = 1) => aTemplate(labels, `example.com/app:${version}`);
export const named = (...names: readonly string[]) => names.map(name => ({metadata: {name}}));
export const minute = 60_000;
export const hour = 60 * minute;
export const aPod = (name: string, spec: Partial<NonNullable<Pod['spec']>> = {}, metadata: Partial<ObjectMeta> = {}): Pod => ({
  metadata: {name, labels, ...metadata},
  spec: {...template().spec!, ...spec},
});

export const nodes = (stage: Stage) => stage.nodes();
export const nodeWith = (name: string, spec: object = {}) => ({metadata: {name}, spec});
