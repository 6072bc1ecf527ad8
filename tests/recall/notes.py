"""A small memory of a made-up project and household, in seven languages, and questions to it."""

from __future__ import annotations

NOTES = {
    "port": "The staging gateway listens on port 8443 behind the blue load balancer.",
    "backup": "Nightly backups of the orders database go to the Hetzner storage box at 02:30.",
    "ticket": "The crash in the importer is tracked as ERR-4711 and happens only with empty archives.",
    "linter": "We agreed to format all Python code with ruff and to drop black.",
    "dentist": "My dentist moved her practice to Lindenstrasse, the next check-up is in March.",
    "allergy": "My daughter is allergic to peanuts, so the birthday cake needs another recipe.",
    "thesis": "The thesis compares three ways of pruning vines on steep slopes.",
    "guitar": "I sold the old guitar and bought a second-hand cello instead.",
    "vpn": "Der VPN-Zugang für externe Mitarbeiter läuft über das Zertifikat auf dem YubiKey.",
    "heating": "Die Heizung im Büro wird am Freitag gewartet, dann fällt das warme Wasser aus.",
    "garden": "Im Garten haben wir dieses Jahr Zucchini und Mangold angebaut.",
    "invoice_pt": "A fatura do fornecedor de servidores vence no dia quinze de cada mês.",
    "cat_pt": "O nosso gato chama-se Bolinha e só come ração de salmão.",
    "queue_pt": "Trocamos o RabbitMQ pelo NATS porque as filas perdiam mensagens.",
    "release_ru": "Релиз мобильного приложения перенесли на середину октября из-за ошибки в оплате.",
    "flat_ru": "Бабушка живёт в Казани и приезжает к нам на Новый год.",
    "cache_ru": "Кэш каталога очищается автоматически каждые шесть часов.",
    "contract_ar": "ينتهي عقد إيجار المكتب في نهاية شهر يونيو ويجب تجديده قبل ذلك.",
    "coffee_ar": "أخي يحب القهوة بدون سكر ويشربها كل صباح في الشرفة.",
    "server_ar": "خادم قاعدة البيانات الجديد موجود في مركز بيانات دبي.",
    "meeting_zh": "项目周会改到每周三下午三点，在二号会议室举行。",
    "dog_zh": "我家的狗叫豆豆，今年五岁，最喜欢在河边散步。",
    "deploy_zh": "线上部署只能在周二和周四进行，需要两个人批准。",
    "trip_ja": "来月の京都旅行では、鴨川沿いの旅館に三泊する予定です。",
    "log_ja": "本番サーバーのログは九十日間保存してから自動的に削除します。",
    "piano_ja": "妹は毎週土曜日にピアノ教室へ通っています。",
}

# (question, note it is about), the language of both the same.
SAME_LANGUAGE = {
    "en": ("Which port does the staging gateway use?", "port"),
    "de": ("Wie melden sich externe Mitarbeiter am VPN an?", "vpn"),
    "pt": ("Quando vence a fatura dos servidores?", "invoice_pt"),
    "ru": ("Когда выйдет релиз мобильного приложения?", "release_ru"),
    "ar": ("متى ينتهي عقد إيجار المكتب؟", "contract_ar"),
    "zh": ("项目周会是什么时候？", "meeting_zh"),
    "ja": ("京都旅行ではどこに泊まりますか？", "trip_ja"),
}

# No content word in common with the note.
PARAPHRASED = (
    ("Where did my tooth doctor go?", "dentist"),
    ("Which foods make my kid sick?", "allergy"),
)

# (question's language - note's language)
ACROSS = {
    "ja-en": ("注文データベースの夜間バックアップはどこに保存されますか？", "backup"),
    "zh-en": ("我卖掉吉他后买了什么乐器？", "guitar"),
    "ru-en": ("На какую еду у моей дочери аллергия?", "allergy"),
    "ar-en": ("ما الطعام الذي تعاني ابنتي من حساسية تجاهه؟", "allergy"),
    "de-en": ("Wohin ist meine Zahnärztin mit ihrer Praxis gezogen?", "dentist"),
    "pt-en": ("Que instrumento comprei depois de vender a guitarra?", "guitar"),
    "en-ja": ("Where do we stay in Kyoto?", "trip_ja"),
    "en-zh": ("What is the name of our dog and how old is it?", "dog_zh"),
    "en-ar": ("How does my brother drink his coffee?", "coffee_ar"),
    "en-ru": ("Why was the mobile app release postponed?", "release_ru"),
    "en-pt": ("Why did we replace RabbitMQ?", "queue_pt"),
    "en-de": ("When is the office heating serviced?", "heating"),
}

UNRELATED = (
    "What is the capital of France?",
    "Write a haiku about the autumn moon.",
    "How many planets are in the solar system?",
    "Erkläre mir die Relativitätstheorie in einfachen Worten.",
    "Qual é a fórmula química da água?",
    "Кто написал роман «Война и мир»?",
    "من هو مؤلف كتاب ألف ليلة وليلة؟",
    "光合作用是怎么进行的？",
    "三角形の面積の求め方を教えてください。",
    "Translate 'good morning' into Italian.",
)

SMALL_TALK = ("hi", "Thanks!", "Danke dir!", "obrigado", "спасибо", "شكرا", "谢谢", "ありがとうございます", "👍", "ok")
