// Where the page begins.

import './desk.css';
import './desk.js';
