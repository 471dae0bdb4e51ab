import type {AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';

/** Admits all requests. */
export const alwaysAdmit: AdmissionPlugin = {name: 'AlwaysAdmit', admit() {}, validate() {}};

/** Refuses all requests. */
export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  admit(attributes) {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
  validate(attributes) {
    throw refuse(attributes, 'admission control is denying all modifications');
  },
};
