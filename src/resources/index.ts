import {certificateSigningRequests} from './certificates/certificatesigningrequest.js';
import {configMaps} from './core/configmap.js';
import {namespaces} from './core/namespace.js';
import {secrets} from './core/secret.js';
import {serviceAccounts} from './core/serviceaccount.js';
import type {ResourceDefinition} from './definition.js';

/** Every built-in resource. What is served, stored and shown follows from this list. */
export const resources: readonly ResourceDefinition[] = [namespaces, configMaps, secrets, serviceAccounts, certificateSigningRequests];
