import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from './admission.js';
import {targetsOf} from './handles.js';
import {refuse} from './refuse.js';

type Service = ObjectOf<typeof kinds.services>;

/** Refuses new external IPs of services, by which their author could intercept others' traffic (CVE-2020-8554). */
export const denyServiceExternalIps = (naming: Naming): AdmissionPlugin => ({
  name: 'DenyServiceExternalIPs',
  handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.services)},
  validate(attributes) {
    const {object, oldObject} = attributes;
    const known = (oldObject as Service | undefined)?.spec?.externalIPs ?? [];
    if ((object as Service).spec?.externalIPs?.some(address => !known.includes(address)))
      throw refuse(attributes, 'Use of external IPs is denied by admission control');
  },
});
