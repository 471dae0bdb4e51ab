import {kinds, type ObjectOf} from '#src/api/kinds/index.js';

export type Service = ObjectOf<typeof kinds.services>;
export type Spec = NonNullable<Service['spec']>;

export const namespace = 'default';
export const dual = {serviceRanges: {addresses: ['10.0.0.0/24', 'fd00::/112'], ports: {from: 30_000, to: 30_009}}};
export const aService = (spec: Spec = {}, name = 's'): Service => ({metadata: {name, namespace}, spec: {ports: [{port: 80}], ...spec}});
