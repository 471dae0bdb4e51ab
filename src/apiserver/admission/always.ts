import type {AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';

/** Lets everything pass. */
export const alwaysAdmit: AdmissionPlugin = {name: 'AlwaysAdmit'};

/** Lets nothing pass. */
export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  admit(attributes) {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
  validate(attributes) {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
};
