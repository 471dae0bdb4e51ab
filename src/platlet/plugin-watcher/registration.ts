// The service by which a plugin tells what it is: `pluginregistration.Registration`, version 1.

import {emptyMessage} from '#src/platlet/cri/messages/common.js';
import {flag, message, text, texts} from '#src/platlet/rpc/codec.js';
import {procedureOf} from '#src/platlet/rpc/procedure.js';

const pluginInfo = message({type: text(1), name: text(2), endpoint: text(3), supportedVersions: texts(4)});
const registrationStatus = message({pluginRegistered: flag(1), error: text(2)});

const registration = procedureOf('pluginregistration.Registration');

export const getInfo = registration('GetInfo', emptyMessage, pluginInfo);
export const notifyRegistrationStatus = registration('NotifyRegistrationStatus', registrationStatus, emptyMessage);
